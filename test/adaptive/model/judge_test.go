package model

import (
	"math"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestJudge makes sure that the scenarios can be failed.
func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		controller string
		scenario   string
		merge      Merge
		want       string // in the misses
	}{
		{"no controller at all, overload", "static", "drop60", Robust, "recover_s is 99"},
		{"no controller at all, late answers", "static", "drop60_low", Robust, "late is 0.76"},
		{"no controller at all, reports stop", "static", "silent", Robust, "limit_at_150 is 400"},
		{"no controller at all, capacity flaps", "static", "flapping", Robust, "goodput is 0.09"},
		{"no controller at all, more load than before", "static", "underload", Robust, "goodput is 0.8"},
		{"another goal than the one set", "vegas", "threshold_baseline2x", Robust, "goodput is 0.3"},
		{"samples pooled, some reporters claim disaster", "delivered", "attack_high", Pooled, "goodput is 0.2"},
		{"samples pooled, some reporters deny it", "delivered", "attack_low", Pooled, "goodput is 0.2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sc := named(t, tt.scenario)
			sc.Merge = tt.merge
			misses := strings.Join(average(t, &sc, tt.controller, 2).Misses(sc.Accept), "; ")
			if !strings.Contains(misses, tt.want) {
				t.Errorf("misses %q, want %q among them", misses, tt.want)
			}
		})
	}
}

func named(t *testing.T, name string) Scenario {
	t.Helper()
	for _, sc := range all(t) {
		if sc.Name == name {
			return sc
		}
	}
	t.Fatalf("no scenario %s", name)
	return Scenario{}
}

// TestRivals compares the classics with what they reached in another
// implementation of this model, where they were first judged.
func TestRivals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		goodput float64 // in drop60, as late
		late    float64
	}{
		{"static", 0.23, 0.762},
		{"aimd", 0.60, 0.052},
		{"gradient2", 0.43, 0.181},
		{"vegas", 0.78, 0.040},
		{"pid", 0.52, 0.058},
	}
	sc := named(t, "drop60")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := average(t, &sc, tt.name, 2)
			if math.Abs(got["goodput"]-tt.goodput) > 0.06 || math.Abs(got["late"]-tt.late) > 0.035 {
				t.Errorf("goodput is %.2f and %.3f are late, want %.2f and %.3f", got["goodput"], got["late"], tt.goodput, tt.late)
			}
		})
	}
}

// TestRivalsWithoutReports: they drift to the start, from above soon, from below late.
func TestRivalsWithoutReports(t *testing.T) {
	t.Parallel()
	for _, from := range []float64{200, 800} {
		r := rival{bounds: Bounds{Min: 50, Max: 2000, Start: 400}, limit: from, step: static}
		silent := adaptive.Stats{Interval: 1}
		var moved int
		for tick := 1; moved == 0 && tick < 1000; tick++ {
			if r.Tick(silent) != from {
				moved = tick
			}
		}
		want := map[float64]int{200: 601, 800: 31}[from]
		if moved != want || math.Abs(r.limit-400) > math.Abs(from-400) {
			t.Errorf("from %v it moves in tick %d to %v, want in tick %d", from, moved, r.limit, want)
		}
	}
}
