package algorithms

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMicroStep(t *testing.T) {
	t.Parallel()
	// T is 142,857 1/7 µs, B*T 428,571 3/7.
	params := Params{Kind: GCRA, Limit: 7, Window: time.Second, Burst: 3}
	full := Micros{428_571, 3}
	tests := []struct {
		name      string
		kind      Kind
		overdraft int64
		maxDelay  time.Duration
		hits      int64
		want      MicroStep
	}{
		{"one hit", GCRA, 0, 0, 1, MicroStep{Micros{142_857, 1}, Micros{285_714, 2}, full}},
		{"a look", GCRA, 0, 0, 0, MicroStep{Micros{142_857, 1}, Micros{285_714, 2}, full}},
		{"all hits", GCRA, 0, 0, 3, MicroStep{full, Micros{}, full}},
		{"too many", GCRA, 0, 0, 4, MicroStep{full, Micros{Whole: -1}, full}},
		{"too many, post-paid", GCRA, 2, 0, 4, MicroStep{Micros{571_428, 4}, Micros{Whole: -1}, Micros{714_285, 5}}},
		{"more than the debt", GCRA, 2, 0, math.MaxInt64, MicroStep{Micros{714_285, 5}, Micros{Whole: -1}, Micros{714_285, 5}}},
		{"a refund", GCRA, 0, 0, -2, MicroStep{Cost: Micros{285_714, 2}, Fill: full}},
		{"a huge refund", GCRA, 2, 0, math.MinInt64, MicroStep{Cost: Micros{714_285, 5}, Fill: Micros{714_285, 5}}},
		{"a short delay", LeakyQueue, 0, 100_500 * time.Nanosecond, 1, MicroStep{Micros{142_857, 1}, Micros{100, 3}, full}},
		{"a delay just below", LeakyQueue, 0, 285_714_285, 1, MicroStep{Micros{142_857, 1}, Micros{285_714, 1}, full}},
		{"a delay just above", LeakyQueue, 0, 285_714_286, 1, MicroStep{Micros{142_857, 1}, Micros{285_714, 2}, full}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := params
			p.Kind, p.Overdraft, p.MaxDelay = test.kind, test.overdraft, test.maxDelay
			if diff := cmp.Diff(test.want, mustNew(t, p).MicroStep(test.hits)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want State
		got  State
	}{
		{"whole arrival", State{5000}, ArrivalState(5, 0, 0)},
		{"arrival", State{5285, 5, 7}, ArrivalState(5, 2, 7)},
		{"window", State{5000, 3}, WindowState(5, 3)},
		{"counter", State{5, 3, 2}, CounterState(5, 3, 2)},
		{"none", State{}, ArrivalState(0, 0, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
	r := mustNew(t, Params{Kind: SlidingCounter, Limit: 10, Window: 100, Buckets: 2})
	counts := NewCounts(4, []int64{3, 2, 0})
	_, d := r.DecideCounts(&counts, 200, 1)
	if want := (Decision{Allowed: true, Remaining: 4, ResetAfter: 150}); d != want {
		t.Errorf("decision is %+v, want %+v", d, want)
	}
}

func TestMaxMicro(t *testing.T) {
	t.Parallel()
	const most = MaxMicro + int64(MaxFill)/int64(time.Microsecond) + 1
	if most >= 1<<53 || time.UnixMicro(MaxMicro).UTC().Year() != 2155 {
		t.Errorf("the last instant %d is not exact, or not in 2155", most)
	}
}
