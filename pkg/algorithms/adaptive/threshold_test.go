package adaptive

import (
	"math"
	"testing"
)

// tailed is a good tick with such a median and tail.
func tailed(p50, p99 float64) Stats {
	t := good()
	t.P50, t.P99 = p50, p99
	return t
}

// A threshold of 250 ms; without a queue the tail is 200 ms, and the median 20 ms.
func TestUnderAThreshold(t *testing.T) {
	t.Parallel()
	with := func(edit func(*Config, *State)) func(*Config, *State) {
		return func(c *Config, s *State) {
			tail99of250(c, s)
			edit(c, s)
		}
	}
	growing := func(share float64) func(*Config, *State) {
		return with(func(_ *Config, s *State) { s.Growth = share })
	}
	tell(t, []story{
		{"all the room that there is", tail99of250, times(1, tailed(0.02, 0.2)), 404, Growing},
		{"half of it", tail99of250, times(1, tailed(0.02, 0.2125)), 402, Growing},
		{"less", growing(0.3), times(1, tailed(0.02, 0.22)), 400 * (1 + 0.02*0.2/2), Growing},
		{"none", tail99of250, times(1, tailed(0.02, 0.225)), 400, AtGoal},
		{"up to the threshold", tail99of250, times(9, tailed(0.02, 0.25)), 400, AtGoal},
		{"hardly any to begin with", with(func(_ *Config, s *State) { s.Idle = 0.24 }), times(1, tailed(0.02, 0.219375)), 402, Growing},
		{"fast", growing(0.3), times(1, tailed(0.03, 0.2)), 460, Growing},
		{"faster", growing(0.3), times(2, tailed(0.02, 0.2)), 460 * (1 + 0.45/2), Growing},
		{"as fast as can be", growing(0.8), times(2, tailed(0.02, 0.2)), 400 * 1.4 * 1.4, Growing},
		{"the median rises", growing(0.8), times(1, tailed(0.031, 0.2)), 404, Growing},
		{"and stays so", growing(0.8), times(2, tailed(0.031, 0.2)), 404 * 1.01, Growing},

		{"back at the best", with(func(_ *Config, s *State) { s.Best, s.Growth = 450, 0.8 }), times(1, tailed(0.02, 0.2)), 414 * math.Exp(-1.0/3600), GrowingWithCare},
		{"and on", with(func(_ *Config, s *State) { s.Best, s.Growth = 450, 0.8 }), times(2, tailed(0.02, 0.2)), 414 * math.Exp(-1.0/3600) * 1.01, Growing},
		{"back where it hurt, below the best", with(func(_ *Config, s *State) { s.Best, s.Mark, s.Growth = 550, 450, 0.8 }), times(1, tailed(0.02, 0.2)), 414, GrowingWithCare},
		{"the best is not for a baseline", func(_ *Config, s *State) { s.Best, s.Growth = 450, 0.3 }, times(1, good()), 460, Growing},

		{"too slow, no queue", tail99of250, times(2, tailed(0.04, 0.3)), 400 * 0.25 / 0.3, CutLatency},
		{"a queue", tail99of250, times(2, tailed(0.041, 0.3)), 400 - 400*0.05/2, CutOverload},
		{"a queue that the median shows better", tail99of250, times(2, tailed(0.15, 0.3)), 400 - 400*0.13/2, CutOverload},
		{"a queue, cooling down", tail99of250, times(5, tailed(0.041, 0.3)), 360, CoolingDown},
		{"a queue, not drained", tail99of250, times(6, tailed(0.041, 0.3)), 360 * 0.25 / 0.3, CutLatency},
		{"a queue, again", with(func(c *Config, _ *State) { c.tuning.smooth = 0 }), ticks(
			times(2, tailed(0.041, 0.3)), times(4, tailed(0.02, 0.2)), times(2, tailed(0.041, 0.3)),
		), 363.6 - (36.4*2+363.6*0.05)/2, CutOverload},
	})
}

// What a threshold allowed is not for a rule without one.
func TestGrowthWithoutAThreshold(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Start()
	s.Growth, s.Baseline = 0.8, 0.02
	if s = c.Step(s, good()); !near(460, s.Limit) {
		t.Errorf("limit %v, want 460", s.Limit)
	}
}
