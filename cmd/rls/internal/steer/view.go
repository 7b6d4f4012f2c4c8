package steer

import (
	"math"
	"slices"
	"strings"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// row is what one replica knows, as it leaves it for the others. Times are seconds
// before it was left.
type row struct {
	Passages []passage `json:"passages"`
	Seen     []seen    `json:"seen"`
}

// seen is what one reporter saw in one interval.
type seen struct {
	Reporter     string          `json:"reporter"`
	Start        float64         `json:"start"`
	End          float64         `json:"end"`
	Started      uint64          `json:"started"`
	StartedKnown bool            `json:"started_known"`
	OK           uint64          `json:"ok"`
	Errors       uint64          `json:"errors"`
	Latency      adaptive.Sketch `json:"latency"`
}

func (s *seen) samples() uint64 { return s.OK + s.Errors }

// later is the row as it is seen some seconds later.
func (r *row) later(seconds float64) {
	for i := range r.Passages {
		r.Passages[i].Start += seconds
		r.Passages[i].End += seconds
	}
	for i := range r.Seen {
		r.Seen[i].Start += seconds
		r.Seen[i].End += seconds
	}
}

// view is what is known of a rule at one instant.
type view struct {
	stats     adaptive.Stats
	reporters int
	completed float64 // requests a second of reporters that do not say how many began
	began     float64 // requests a second of those that do
	requests  float64 // admitted a second in the same interval
}

// look merges what all replicas know. Span is the length of the tick in s.
func look(rows []row, span float64, cover coverage) view {
	all := pooled(rows)
	var v view
	v.reporters = len(all)
	now := total(rows, span, 0)
	v.stats.Interval, v.stats.Admitted, v.stats.Denied = span, now.admitted, now.refused
	if len(all) == 0 {
		return v
	}
	start := medianOf(all, func(s *seen) float64 { return s.Start })
	end := max(0, medianOf(all, func(s *seen) float64 { return s.End }))
	start = max(start, end)
	then := total(rows, start, end)
	v.requests = then.requests
	v.count(all, start-end)
	merged := adaptive.Merge(filled(all, then.requests*(start-end)*cover.now()))
	merged.Interval, merged.Admitted, merged.Denied = v.stats.Interval, v.stats.Admitted, v.stats.Denied
	merged.AdmittedThen, merged.Age = then.admitted, end
	v.stats = merged
	return v
}

func (v *view) count(all []*seen, length float64) {
	if length <= 0 {
		return
	}
	for _, s := range all {
		if s.StartedKnown {
			v.began += float64(s.Started) / length
		} else {
			v.completed += float64(s.samples()) / length
		}
	}
}

// total are the rates of all replicas together.
func total(rows []row, start, end float64) rates {
	var sum rates
	for i := range rows {
		sum = sum.plus(ratesOf(rows[i].Passages, start, end))
	}
	return sum
}

// pooled has one entry for each reporter that saw something: one that spoke to
// several replicas is still one.
func pooled(rows []row) []*seen {
	byName := map[string]*seen{}
	for i := range rows {
		for j := range rows[i].Seen {
			s := &rows[i].Seen[j]
			if s.samples() == 0 {
				continue
			}
			known := byName[s.Reporter]
			if known == nil {
				byName[s.Reporter] = s
				continue
			}
			known.Start, known.End = max(known.Start, s.Start), min(known.End, s.End)
			known.Started, known.StartedKnown = plus(known.Started, s.Started), known.StartedKnown && s.StartedKnown
			known.OK, known.Errors = plus(known.OK, s.OK), plus(known.Errors, s.Errors)
			known.Latency.Merge(&s.Latency)
		}
	}
	all := make([]*seen, 0, len(byName))
	for _, s := range byName {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *seen) int { return strings.Compare(a.Reporter, b.Reporter) })
	return all
}

// filled are rows in which those that do not say how many requests began share the
// number that must have begun, by what they completed; where that is not known (0),
// all that began are completed.
func filled(all []*seen, begun float64) []adaptive.Row {
	completed := 0.0
	for _, s := range all {
		if !s.StartedKnown {
			completed += float64(s.samples())
		}
	}
	result := make([]adaptive.Row, len(all))
	for i, s := range all {
		started := s.Started
		if !s.StartedKnown {
			started = s.samples()
			if begun > 0 {
				started = uint64(min(max(1, math.Round(begun*float64(s.samples())/completed)), math.MaxInt64))
			}
		}
		result[i] = adaptive.Row{Started: started, OK: s.OK, Errors: s.Errors, Latency: s.Latency}
	}
	return result
}

// medianOf is the lower median.
func medianOf(all []*seen, of func(*seen) float64) float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
