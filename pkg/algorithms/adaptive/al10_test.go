package adaptive

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// sticky is the service of AL-10: it answers all that is let in, and 3000/s are
// asked for. p99 is twice p50.
type sticky struct {
	t      *testing.T
	config Config
	state  State
	then   float64 // hits/s let in a tick ago
	age    float64
}

func newSticky(t *testing.T, c Config, age float64) *sticky {
	t.Helper()
	return &sticky{t: t, config: c, state: c.Start(), then: c.StartLimit, age: age}
}

// run is the limits of so many seconds.
func (s *sticky) run(seconds int, p50 func() float64) []float64 {
	s.t.Helper()
	limits := make([]float64, seconds)
	for i := range limits {
		admitted, latency := min(3000, s.state.Limit), p50()
		s.state = s.config.Step(s.state, Stats{
			Samples: uint64(admitted), P50: latency, P99: 2 * latency, OKRatio: 1,
			Admitted: admitted, Denied: 3000 - admitted, AdmittedThen: s.then, Age: s.age, Interval: 1,
		})
		s.then, limits[i] = admitted, s.state.Limit
		if limits[i] < 50 || limits[i] > 2000 {
			s.t.Fatalf("limit %v", limits[i])
		}
	}
	return limits
}

func at(p50 float64) func() float64 { return func() float64 { return p50 } }

// after counts the ticks up to the first whose limit is reached, 0 if none is.
func after(limits []float64, reached func(float64) bool) int {
	for i, l := range limits {
		if reached(l) {
			return i + 1
		}
	}
	return 0
}

func high(l float64) bool { return l >= 1800 } // 90 % of the maximum

func TestAL10NoLimitSticksOrRunsAway(t *testing.T) {
	t.Parallel()
	s := newSticky(t, NewConfig(50, 2000, 400), 1)
	if n := after(s.run(60, at(0.02)), high); n < 1 || n > 20 {
		t.Errorf("from the start to 90 %% in %d s, want at most 20 (16 measured)", n)
	}
	random := rand.New(rand.NewPCG(15, 16))
	if l := slices.Min(s.run(600, func() float64 { return 0.018 + 0.007*random.Float64() })); !high(l) {
		t.Errorf("noise brought it down to %v", l)
	}
	slower := s.run(300, at(0.2))
	dip := after(slower, func(l float64) bool { return !high(l) })
	if dip == 0 || slices.Min(slower) < 1400 {
		t.Errorf("a slower service: a dip after %d s to %v, want to about 1458", dip, slices.Min(slower))
	}
	if n := dip + after(slower[dip:], high); n > 30 || !high(slices.Min(slower[30:])) {
		t.Errorf("the new level accepted after %d s, want at most 30 (22 measured)", n)
	}
	if back := s.run(60, at(0.02)); !high(slices.Min(back[5:])) {
		t.Errorf("quick again: %v, want 90 %% within 5 s", back)
	}
	s.run(3600, at(0.035))
	if s.state.Baseline >= 0.025 || s.state.Baseline < 0.015 {
		t.Errorf("after an hour of refusals at 35 ms the baseline is %v, want about 0.020", s.state.Baseline)
	}
}

func TestAL10NothingIsNormalAboveAThreshold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		age  float64
		back int // s
	}{
		{"reports a second old", 1, 45},
		{"reports 0.2 s old", 0.2, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := NewConfig(50, 2000, 400)
			c.Quantile, c.Threshold = 0.99, 0.1
			s := newSticky(t, c, tt.age)
			if up := s.run(300, at(0.01)); up[299] != 2000 {
				t.Errorf("at p99 20 ms it is at %v, want the maximum", up[299])
			}
			slow := s.run(600, at(0.1))
			for i, l := range slow[30:] {
				if l != 50 {
					t.Fatalf("at p99 200 ms it is at %v after %d s, want the minimum", l, 30+i)
				}
			}
			if n := after(s.run(120, at(0.01)), high); n < 1 || n > tt.back {
				t.Errorf("back at 90 %% in %d s, want at most %d (34 measured, 24 with quick reports)", n, tt.back)
			}
		})
	}
}
