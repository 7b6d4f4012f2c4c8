package adaptive

import (
	"cmp"
	"math"
	"slices"
)

// quorum is the least number of reporters of whom a minority can be outvoted.
const quorum = 3

// Merge makes one view of the reporters' rows: of each figure the weighted
// median over the reporters, so that no minority, whatever it claims, moves a
// figure out of the range of the others'. Below three reporters there is no
// majority to lean on, and their samples are pooled. Rows without an answer do
// not count. Rows without a latency, such as of connections that were refused,
// have no part in P50 and P99: those are merged from the other rows, by the same
// rules. What only the service knows, from Admitted to Interval, is left 0.
func Merge(rows []Row) Stats {
	answered, timed := make([]*Row, 0, len(rows)), make([]*Row, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.answers() == 0 {
			continue
		}
		answered = append(answered, r)
		if r.Latency.Count() > 0 {
			timed = append(timed, r)
		}
	}
	all := merge(answered)
	if len(timed) < len(answered) {
		latency := merge(timed)
		all.P50, all.P99 = latency.P50, latency.P99
	}
	return all
}

func (r *Row) answers() uint64 { return plus(r.OK, r.Errors) }

// merge takes rows that have answers.
func merge(rows []*Row) Stats {
	if len(rows) < quorum {
		return pool(rows)
	}
	views := make([]view, len(rows))
	for i, r := range rows {
		views[i] = look(r)
	}
	weigh(views)
	weight := 0.0
	for _, v := range views {
		weight += v.weight
	}
	return Stats{
		Samples:    uint64(min(weight, mostSamples)),
		P50:        median(views, func(v view) float64 { return v.p50 }),
		P99:        median(views, func(v view) float64 { return v.p99 }),
		ErrorRatio: median(views, func(v view) float64 { return v.errors }),
		OKRatio:    median(views, func(v view) float64 { return v.ok }),
	}
}

// view is one row's figures, and what they weigh.
type view struct{ weight, p50, p99, errors, ok float64 }

func look(r *Row) view {
	n := r.answers()
	p50, _ := r.Latency.Quantile(0.5)
	p99, _ := r.Latency.Quantile(0.99)
	return view{
		weight: float64(n),
		p50:    p50,
		p99:    p99,
		errors: float64(r.Errors) / float64(max(1, n)),
		ok:     float64(r.OK) / float64(max(1, r.Started)),
	}
}

// pool adds up the rows and looks at the sum.
func pool(rows []*Row) Stats {
	var sum Row
	for _, r := range rows {
		sum.Started = plus(sum.Started, r.Started)
		sum.OK = plus(sum.OK, r.OK)
		sum.Errors = plus(sum.Errors, r.Errors)
		sum.Latency.Merge(&r.Latency)
	}
	v := look(&sum)
	return Stats{
		Samples: min(sum.answers(), mostSamples),
		P50:     v.p50, P99: v.p99, ErrorRatio: v.errors, OKRatio: v.ok,
	}
}

// weigh caps the weights, which come as sample counts.
func weigh(views []view) {
	slices.SortFunc(views, func(a, b view) int { return cmp.Compare(a.weight, b.weight) })
	weights := make([]float64, len(views))
	for i, v := range views {
		weights[i] = v.weight
	}
	limit := Fair(weights)
	for i := range views {
		views[i].weight = min(views[i].weight, limit)
	}
}

// Fair is the most that each of several reporters' weights may count: their median,
// and less where that is not enough, since the heaviest minority must weigh less than
// the rest. Below three reporters there is no minority, and no such limit.
func Fair(weights []float64) float64 {
	if len(weights) < quorum {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(weights))
	few := (len(sorted) - 1) / 2
	rest := sorted[:len(sorted)-few]
	limit := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	for limit > 0 && float64(few)*limit >= capped(rest, limit) {
		limit = 0.9 * capped(rest, limit) / float64(few)
	}
	return limit
}

// capped is the sum of the weights, none above limit.
func capped(weights []float64, limit float64) float64 {
	sum := 0.0
	for _, w := range weights {
		sum += min(w, limit)
	}
	return sum
}

// median is the least figure that, with all figures below it, has half of the
// weight.
func median(views []view, figure func(view) float64) float64 {
	slices.SortFunc(views, func(a, b view) int {
		return cmp.Or(cmp.Compare(figure(a), figure(b)), cmp.Compare(a.weight, b.weight))
	})
	total := 0.0
	for _, v := range views {
		total += v.weight
	}
	i := 0
	for seen := views[0].weight; seen < total/2; seen += views[i].weight {
		i++
	}
	return figure(views[i])
}
