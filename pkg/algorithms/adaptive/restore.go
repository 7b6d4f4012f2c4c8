package adaptive

import (
	"encoding/json"
	"fmt"
	"math"
)

// Restore reads a State that was stored as JSON. What no controller can have
// written is an error. A limit that bounds changed since leave outside is moved
// within, what was learned for another goal is forgotten, and a reason that is
// not known here becomes Restored, so that releases can share a store.
func (c Config) Restore(data []byte) (State, error) {
	var s State
	err := json.Unmarshal(data, &s)
	if err != nil {
		return State{}, fmt.Errorf("reading a state: %w", err)
	}
	for _, f := range c.fields(&s) {
		if f.value < f.least || f.value > f.most {
			return State{}, fmt.Errorf("reading a state: %s is %v, must be in [%v, %v]", f.name, f.value, f.least, f.most)
		}
	}
	if !s.Reason.known() {
		s.Reason = Restored
	}
	return c.adopt(s), nil
}

// field is a number of a state, and what it can be.
type field struct {
	name               string
	value, least, most float64
}

func (c *Config) fields(s *State) []field {
	const delivered = highestRate * highestRatio
	g := &s.Gather
	mostTicks := max(float64(c.tuning.gatherMost), c.tuning.minSamples) // of at least an answer
	return []field{
		{"limit", s.Limit, math.SmallestNonzeroFloat64, highestRate},
		{"delivered", s.Delivered, 0, delivered},
		{"latency", s.Latency, 0, longestLatency},
		{"median", s.Median, 0, longestLatency},
		{"baseline", s.Baseline, 0, longestLatency},
		{"idle", s.Idle, 0, longestLatency},
		{"best", s.Best, 0, highestRate},
		{"answers", s.Answers, 0, mostSamples},
		{"growth", s.Growth, c.tuning.growMin, max(c.tuning.growMax, c.tuning.growUp)},
		{"hot", float64(s.Hot), 0, float64(c.tuning.confirm)},
		{"peak", s.Peak, 0, delivered},
		{"level", s.Level, 0, longestLatency},
		{"flat", float64(s.Flat), 0, float64(c.tuning.flatAtMin)},
		{"cool", s.Cool, 0, 1 + longestAge + c.tuning.settle + c.tuning.drainMost},
		{"drain", s.Drain, 0, c.tuning.drainMost},
		{"resume", s.Resume, 0, highestRate},
		{"mark", s.Mark, 0, highestRate},
		{"since_cut", s.SinceCut, 0, longestTime},
		{"silent", s.Silent, 0, longestTime},
		{"unheard", s.Unheard, 0, longestTime},
		{"gather.ticks", float64(g.Ticks), 0, mostTicks - 1},
		{"gather.samples", g.Samples, 0, c.tuning.enough},
		{"gather.p50", g.P50, 0, longestLatency * g.Samples},
		{"gather.p99", g.P99, 0, longestLatency},
		{"gather.errors", g.Errors, 0, g.Samples},
		{"gather.ratio", g.Ratio, 0, 2 * highestRatio * g.Samples}, // twice, for what rounding adds
		{"gather.load", g.Load, 0, mostTicks * highestRate},
		{"gather.answered", g.Answered, 0, 2 * highestRatio * g.Load},
		{"gather.admitted", g.Admitted, 0, mostTicks * highestRate},
		{"gather.denied", g.Denied, 0, mostTicks * highestRate},
		{"gather.quiet", g.Quiet, 0, c.tuning.blindAfter},
	}
}
