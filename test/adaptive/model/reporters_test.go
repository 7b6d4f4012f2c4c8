package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestReporters has one reporter out of one see requests, so that all rows are known.
func TestReporters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		faults []Fault
		tick   int
		second int
		want   adaptive.Stats // P50 and P99 are compared by bucket
	}{
		{"before the first report", nil, 1, -1, adaptive.Stats{}},
		{"an answer counts when it comes, a start when it is sent", nil, 2, 0, adaptive.Stats{Samples: 1, P50: 0.1, P99: 0.1, OKRatio: 0.25}},
		{"a late answer is an error after the deadline", nil, 3, 1, adaptive.Stats{Samples: 3, P50: 0.5, P99: 1, ErrorRatio: 1.0 / 3, OKRatio: 2}},
		{"silent", []Fault{{"silent", []int{0}, 3}}, 3, 1, adaptive.Stats{}},
		{"not silent yet", []Fault{{"silent", []int{0}, 3}}, 2, 0, adaptive.Stats{Samples: 1, P50: 0.1, P99: 0.1, OKRatio: 0.25}},
		{"another is silent", []Fault{{"silent", []int{1}, 0}}, 2, 0, adaptive.Stats{Samples: 1, P50: 0.1, P99: 0.1, OKRatio: 0.25}},
		{"lies high", []Fault{{"high", []int{0}, 0}}, 2, 0, adaptive.Stats{Samples: 200, P50: 5, P99: 5, ErrorRatio: 1}},
		{"lies low", []Fault{{"low", []int{0}, 0}}, 2, 0, adaptive.Stats{Samples: 200, P50: 0.001, P99: 0.001, OKRatio: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sc := &Scenario{Duration: 3, DeadlineMS: 1000, Reporters: 1, Faults: tt.faults}
			r := newReporters(sc, seeded())
			r.see(0.1, 0.1)
			r.see(0.6, 0.5)
			r.see(0.7, 0.5)
			r.see(0.8, 1.5)
			got := r.heard(tt.tick, tt.second)
			want := tt.want
			want.P50, want.P99 = bucketed(want.P50), bucketed(want.P99)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// bucketed is the latency that a sketch remembers of x.
func bucketed(x float64) float64 {
	if x == 0 {
		return 0
	}
	return adaptive.Middle(adaptive.Bucket(x))
}

func TestStuckReporter(t *testing.T) {
	t.Parallel()
	sc := &Scenario{Duration: 5, DeadlineMS: 1000, Reporters: 1, Faults: []Fault{{"stuck", []int{0}, 3}}}
	r := newReporters(sc, seeded())
	for second := range 5 {
		for range second {
			r.see(float64(second), 0.1)
		}
	}
	var got []uint64
	for tick := 1; tick <= 5; tick++ {
		got = append(got, r.heard(tick, tick-1).Samples)
	}
	if diff := cmp.Diff([]uint64{0, 1, 2, 2, 2}, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	for merge, want := range map[Merge]float64{Robust: 0.1, Pooled: 5} {
		sc := &Scenario{Duration: 1, DeadlineMS: 1000, Reporters: 3, Faults: []Fault{{"high", []int{0}, 0}}, Merge: merge}
		r := newReporters(sc, seeded())
		for range 100 {
			r.see(0, 0.1)
		}
		if got := r.heard(1, 0); got.P50 != bucketed(want) {
			t.Errorf("%s: p50 is %v, want %v", merge, got.P50, bucketed(want))
		}
	}
}
