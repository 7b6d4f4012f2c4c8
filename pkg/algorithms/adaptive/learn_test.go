package adaptive

import (
	"math"
	"testing"
)

// quickest is a tick that saw the answers so far of a service that takes longer.
func quickest() Stats {
	t := slow(0.01)
	t.OKRatio = 0.5
	return t
}

// The baseline, and that of a tail that steers, after some ticks.
func TestFirstBaseline(t *testing.T) {
	t.Parallel()
	const second = 0.01 + 500.0/560*0.04 // 50 ms, smoothed
	tests := []struct {
		name  string
		edit  func(*State)
		ticks []Stats
		want  float64
	}{
		{"all answered", nil, times(1, slow(0.01)), 0.01},
		{"all answered, then slow", nil, ticks(times(1, slow(0.01)), times(1, slow(0.05))), 0.01},
		{"the quickest", nil, times(2, quickest()), 0.01},
		{"the quickest, then all", nil, ticks(times(1, quickest()), times(1, slow(0.05))), 0.8 * second},
		{"nine of ten are all", nil, ticks(times(1, quickest()), times(1, edited(slow(0.05), func(t *Stats) { t.OKRatio = 0.9 }))), 0.8 * second},
		{"fewer are not", nil, ticks(times(1, quickest()), times(1, edited(slow(0.05), func(t *Stats) { t.OKRatio = 0.89 }))), 0.01},
		{"only once", nil, ticks(times(1, quickest()), times(1, slow(0.0101)), times(1, slow(0.09))), 0.01},
		{"all, but with errors", nil, ticks(times(1, quickest()), times(1, edited(slow(0.05), func(t *Stats) { t.ErrorRatio = 0.06 }))), 0.01},
		{"all, but after a cut", nil, ticks(times(1, quickest()), times(1, edited(quickest(), func(t *Stats) { t.ErrorRatio = 0.06 })), times(1, slow(0.05))), 0.01},
		{"known before", func(s *State) { s.Baseline, s.Idle = 0.01, 0.01 }, ticks(times(1, quickest()), times(1, slow(0.05))), 0.01},
	}
	for _, tt := range tests {
		for quantile, threshold := range map[float64]float64{median50: 0, tail99: 9} {
			c := NewConfig(50, 2000, 400)
			c.Quantile, c.Threshold = quantile, threshold
			s := c.Start()
			if tt.edit != nil {
				tt.edit(&s)
			}
			for _, tick := range tt.ticks {
				s = c.Step(s, tick)
			}
			if !near(tt.want, s.Baseline) || !near(tt.want, s.Idle) {
				t.Errorf("%s: baseline %v, without a queue %v, want %v", tt.name, s.Baseline, s.Idle, tt.want)
			}
		}
	}
}

// A new normal is no baseline of the quickest answers, and need not be raised.
func TestNewNormalIsWhole(t *testing.T) {
	t.Parallel()
	st := story{edit: func(c *Config, s *State) {
		lessLoad(c, s)
		s.Partial, s.Cool = true, 9
	}, ticks: times(3, slow(0.05))}
	if _, s := st.play(); s.Reason != NewNormal || s.Partial {
		t.Errorf("%+v", s)
	}
}

func TestBaselineAndTail(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	c.Quantile, c.Threshold = tail99, 0.25
	tick := good()
	tick.P50, tick.P99 = 0.02, 0.2
	s := c.Step(c.Start(), tick)
	tick.P50, tick.P99, tick.Denied = 0.03, 0.1, 0
	s = c.Step(s, tick)
	if !near(0.02+500.0/560*0.01, s.Median) || !near(0.02+0.02*500.0/560*0.01, s.Baseline) ||
		!near(0.2-500.0/560*0.1, s.Latency) || !near(0.2-0.1*500.0/560*0.1, s.Idle) {
		t.Errorf("median %v, %v without a queue; tail %v, %v without a queue", s.Median, s.Baseline, s.Latency, s.Idle)
	}
}

func TestBestRate(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Step(c.Start(), good())
	idle := good()
	idle.AdmittedThen = 10
	tests := []struct {
		name  string
		ticks []Stats
		want  float64
	}{
		{"at first", nil, 400},
		{"more", times(1, edited(good(), func(t *Stats) { t.AdmittedThen = 500 })), 500},
		{"not answered", times(1, edited(good(), func(t *Stats) { t.AdmittedThen, t.OKRatio = 500, 0.7 })), 400 * math.Exp(-1.0/3600)},
		{"what was answered late", times(1, edited(good(), func(t *Stats) { t.AdmittedThen, t.OKRatio = 350, 1.5 })), 400 * math.Exp(-1.0/3600)},
		{"an hour ago", times(3600, idle), 400 / math.E},
		{"an hour ago, gathered", times(3600, from(20, idle)), 400 / math.E},
	}
	for _, tt := range tests {
		got := s
		for _, tick := range tt.ticks {
			got = c.Step(got, tick)
		}
		if !near(tt.want, got.Best) {
			t.Errorf("%s: %v, want %v", tt.name, got.Best, tt.want)
		}
	}
}
