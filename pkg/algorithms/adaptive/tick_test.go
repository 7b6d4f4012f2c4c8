package adaptive

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGatherMeans(t *testing.T) {
	t.Parallel()
	first := Stats{
		Samples: 10, P50: 0.01, P99: 0.3, ErrorRatio: 0.4, OKRatio: 0.5,
		Admitted: 10, Denied: 6, AdmittedThen: 30, Age: 9, Interval: 3,
	}
	second := Stats{
		Samples: 30, P50: 0.05, P99: 0.2, ErrorRatio: 0, OKRatio: 0.9,
		Admitted: 20, Denied: 0, AdmittedThen: 10, Age: 1, Interval: 1,
	}
	gathered := func(ticks ...Stats) Stats {
		var g gather
		for _, tick := range ticks {
			g.add(&tick)
		}
		return g.stats(&ticks[len(ticks)-1])
	}
	want := Stats{
		Samples: 40, P50: 0.04, P99: 0.3, ErrorRatio: 0.1, OKRatio: 0.6,
		Admitted: 15, Denied: 3, AdmittedThen: 20, Age: 1, Interval: 1,
	}
	if diff := cmp.Diff(want, gathered(first, second)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, gathered(first)); diff != "" {
		t.Error(diff)
	}
	first.AdmittedThen, second.AdmittedThen = 0, 0 // no load to weigh by
	want.AdmittedThen, want.OKRatio = 0, 0.8
	if diff := cmp.Diff(want, gathered(first, second)); diff != "" {
		t.Error(diff)
	}
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	unlimited := func(seconds float64) Stats {
		t := slow(seconds)
		t.Denied = 0
		return t
	}
	tests := []struct {
		name string
		tick Stats
		want float64
	}{
		{"falls quickly", slow(0.01), 0.019},
		{"does not rise while requests are refused", slow(0.03), 0.02},
		{"rises slowly", unlimited(0.03), 0.0202},
		{"rises up to the goal", unlimited(0.04), 0.0204},
		{"does not follow a queue", unlimited(0.041), 0.02},
		{"does not rise with errors", edited(unlimited(0.03), func(t *Stats) { t.ErrorRatio = 0.06 }), 0.02},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := NewConfig(50, 2000, 400)
			s := c.Start()
			s.Baseline, s.Idle = 0.02, 0.02
			if got := c.Step(s, tt.tick).Baseline; !near(tt.want, got) {
				t.Errorf("baseline %v, want %v", got, tt.want)
			}
		})
	}
}

// What metrics show beside the limit.
func TestStateShowsWhatWasSeen(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Step(c.Start(), good())
	s = c.Step(s, failing())
	if !near(160, s.Delivered) || !near(0.02+500.0/560*0.48, s.Latency) || !near(0.02, s.Baseline) {
		t.Errorf("delivered %v, latency %v, baseline %v", s.Delivered, s.Latency, s.Baseline)
	}
	s = c.Step(s, silent())
	if !near(160, s.Delivered) {
		t.Errorf("silence changed the rate delivered to %v", s.Delivered)
	}
	c.Threshold = 0.1
	if s = c.Step(s, good()); !near(0.02, s.Baseline) {
		t.Errorf("with a threshold the baseline is %v", s.Baseline)
	}
}

func TestMoreSamplesThanAFloatCounts(t *testing.T) {
	t.Parallel()
	if got := (Stats{Samples: 1<<64 - 1}).clean().Samples; got != mostSamples {
		t.Errorf("%d samples", got)
	}
}
