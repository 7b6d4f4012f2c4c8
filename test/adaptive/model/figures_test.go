package model

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestFigures plays eight seconds by hand: capacity of 10/s, 4/s from second 2 to 5.
func TestFigures(t *testing.T) {
	t.Parallel()
	sc := &Scenario{
		Duration: 10, Warmup: 1, Servers: 1, ServiceMS: 100, DeadlineMS: 1000,
		Offered: Steps{{0, 8}}, Speed: Steps{{0, 1}, {2, 0.4}, {5, 1}}, Drop: 2, Back: 5, Probe: [2]float64{3, 5},
	}
	tally := newTally(sc)
	tally.limits = []float64{8, 8, 8, 6, 4.4, 4, 4.2, 6, 8, 8}
	for second, answers := range []int{8, 8, 4, 4, 4, 6, 7, 8, 8, 7} {
		for range answers {
			tally.answer(float64(second), 0.5)
		}
	}
	for range 4 {
		tally.answer(4, 2)      // late
		tally.answer(0.5, 2)    // late, in the warm-up
		tally.answer(9.5, 0.75) // after the end
	}
	want := Figures{
		"goodput": 56.0 / 60, "p99_ms": 2000, "late": 4.0 / 64, "osc": math.Sqrt(2.7684) / 6.46,
		"shrink_s": 3, "recover_s": 1, "probe_p99_ms": 2000, "probe_limit": 5.2,
	}
	if diff := cmp.Diff(want, tally.figures(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNever(t *testing.T) {
	t.Parallel()
	sc := &Scenario{
		Duration: 160, Servers: 1, ServiceMS: 100, DeadlineMS: 1000,
		Offered: Steps{{0, 8}}, Speed: Steps{{0, 1}, {2, 0.4}, {5, 1}}, Drop: 2, Back: 5,
	}
	tally := newTally(sc)
	for second := range sc.Duration {
		tally.limits = append(tally.limits, float64(1000+second))
	}
	want := Figures{
		"goodput": 0, "p99_ms": 0, "late": 0, "osc": math.Sqrt(899.0/12) / 1144.5, "shrink_s": Never, "recover_s": Never,
		"limit_at_85": 1084, "limit_at_95": 1094, "limit_at_150": 1149,
	}
	if diff := cmp.Diff(want, tally.figures(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMean(t *testing.T) {
	t.Parallel()
	got := Mean([]Figures{{"goodput": 0.5, "late": 1}, {"goodput": 0.75, "late": 0}})
	want := Figures{"goodput": 0.625, "worst_goodput": 0.5, "late": 0.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMisses(t *testing.T) {
	t.Parallel()
	f := Figures{"goodput": 0.8, "late": 0.05}
	tests := []struct {
		name   string
		accept map[string]float64
		want   []string
	}{
		{"kept", map[string]float64{"goodput_min": 0.8, "late_max": 0.05}, nil},
		{"too low", map[string]float64{"goodput_min": 0.81}, []string{"goodput is 0.8, must be at least 0.81"}},
		{"too high", map[string]float64{"late_max": 0.04}, []string{"late is 0.05, must be at most 0.04"}},
		{"never measured", map[string]float64{"recover_s_max": 18}, []string{"no such figure: recover_s_max"}},
		{"no side", map[string]float64{"goodput_about": 0.8}, []string{"no such figure: goodput_about"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, f.Misses(tt.accept)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
