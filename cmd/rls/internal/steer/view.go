package steer

import (
	"math"
	"slices"
	"strings"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// row is what one replica knows of a rule. Times are seconds before that was so.
type row struct {
	Passages []passage
	// Target is what passed all rules of the target, where there are several.
	Target []passage
	Seen   []seen
	// Memory is what the replica has carried on by itself; nil: nothing.
	Memory *memory
}

// seen is what one reporter saw in one interval.
type seen struct {
	Reporter     string          `json:"r"`
	Start        float64         `json:"s"`
	End          float64         `json:"e"`
	Started      uint64          `json:"n"`
	StartedKnown bool            `json:"k"`
	OK           uint64          `json:"o"`
	Errors       uint64          `json:"x"`
	Latency      adaptive.Sketch `json:"l"`
}

func (s *seen) samples() uint64 { return plus(s.OK, s.Errors) }

// rate is how many requests a second it completed.
func (s *seen) rate() float64 { return float64(s.samples()) / max(s.Start-s.End, shortest) }

// shortest is the length in s that no interval is below.
const shortest = 1e-3

// later is the row as it is seen some seconds later.
func (r *row) later(seconds float64) {
	for _, all := range [][]passage{r.Passages, r.Target} {
		for i := range all {
			all[i].Start += seconds
			all[i].End += seconds
		}
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
	completed float64 // requests a second of reporters that do not say how many began, as far as they are believed
	began     float64 // requests a second of those that do
	requests  float64 // that rls let pass to the target, a second, in the same interval
	heard     []*seen // what is new, by reporter
}

// look merges what all replicas know. Before is what was new in the tick before, span
// is the length of the tick in s.
func look(rows []row, before []*seen, span float64, cover coverage) view {
	var v view
	v.heard = pooled(rows)
	all := quorate(v.heard, before)
	v.reporters = len(all)
	now := total(rows, passed, span, 0)
	v.stats.Interval, v.stats.Admitted, v.stats.Denied = span, now.admitted, now.refused
	if len(all) == 0 {
		return v
	}
	start, end := window(all)
	v.requests = total(rows, passedTarget, start, end).requests
	var unsure []float64
	for _, s := range all {
		if s.StartedKnown {
			v.began += float64(s.Started) / max(s.Start-s.End, shortest)
		} else {
			unsure = append(unsure, s.rate())
		}
	}
	v.completed = completed(unsure, v.requests, cover)
	begun := func(s *seen) float64 {
		return total(rows, passedTarget, s.Start, s.End).requests * (s.Start - s.End) * cover.now() * s.rate() / v.completed
	}
	least := cover.least(v.requests, max(1, len(unsure)))
	voters := busy(all, least)
	merged := adaptive.Merge(filled(voters, begun))
	if len(all) > len(v.heard) {
		merged.Samples = counted(busy(v.heard, least), voters)
	}
	merged.Interval, merged.Admitted, merged.Denied = v.stats.Interval, v.stats.Admitted, v.stats.Denied
	start, end = window(voters)
	merged.AdmittedThen, merged.Age = total(rows, passed, start, end).admitted, end
	v.stats = merged
	return v
}

// window is when most reporters saw what they saw, in seconds ago.
func window(all []*seen) (start, end float64) {
	end = max(0, medianOf(all, func(s *seen) float64 { return s.End }))
	return max(end, medianOf(all, func(s *seen) float64 { return s.Start })), end
}

// quorum is the least number of reporters that has a majority, see adaptive.Merge.
const quorum = 3

// quorate are the reporters that have a vote: where that makes a quorum, those that
// were heard in the tick before have one in this tick, too. The report of a second
// comes now and then just after a tick, and a liar should not find itself in a
// majority for that. Without any news there is nothing to vote on.
func quorate(heard, before []*seen) []*seen {
	all := slices.Clone(heard)
	for _, b := range before {
		if _, ok := slices.BinarySearchFunc(heard, b.Reporter, func(s *seen, name string) int { return strings.Compare(s.Reporter, name) }); !ok {
			all = append(all, b)
		}
	}
	if len(heard) == 0 || len(all) < quorum {
		return heard
	}
	return all
}

// busy are the reporters that are not idle, if there are any. Where one Envoy of three
// has all of the traffic but an answer now and then, the other two would have the
// majority, and a vote of an answer each.
func busy(all []*seen, least float64) []*seen {
	some := slices.DeleteFunc(slices.Clone(all), func(s *seen) bool { return !s.StartedKnown && s.rate() < least })
	if len(some) == 0 {
		return all
	}
	return some
}

// counted are the samples of what is new, each reporter's as far as its vote goes: the
// others' have been counted.
func counted(heard, all []*seen) uint64 {
	samples := make([]float64, len(all))
	for i, s := range all {
		samples[i] = float64(s.samples())
	}
	most, sum := adaptive.Fair(samples), 0.0
	for _, s := range heard {
		sum += min(float64(s.samples()), most)
	}
	return uint64(sum)
}

// older is what was seen, some seconds later.
func older(all []*seen, seconds float64) []*seen {
	later := make([]*seen, len(all))
	for i, s := range all {
		o := *s
		o.Start, o.End = o.Start+seconds, o.End+seconds
		later[i] = &o
	}
	return later
}

func passed(r *row) []passage { return r.Passages }

// passedTarget is what passed all rules of the row's target.
func passedTarget(r *row) []passage {
	if len(r.Target) > 0 {
		return r.Target
	}
	return r.Passages
}

// total are the rates of all replicas together.
func total(rows []row, of func(*row) []passage, start, end float64) rates {
	var sum rates
	for i := range rows {
		sum = sum.plus(ratesOf(of(&rows[i]), start, end))
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

// filled are rows in which those that do not say how many requests began have the
// number that must have; where that is not known (0), all that began are completed.
func filled(all []*seen, begun func(*seen) float64) []adaptive.Row {
	result := make([]adaptive.Row, len(all))
	for i, s := range all {
		started := s.Started
		if !s.StartedKnown {
			started = s.samples()
			if n := begun(s); n > 0 {
				started = uint64(min(max(1, math.Round(n)), math.MaxInt64))
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
