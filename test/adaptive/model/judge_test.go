package model

import (
	"math"
	"strings"
	"testing"
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
		goodput float64 // in drop60
	}{
		{"static", 0.23},
		{"aimd", 0.60},
		{"gradient2", 0.43},
		{"vegas", 0.78},
		{"pid", 0.52},
	}
	sc := named(t, "drop60")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := average(t, &sc, tt.name, 2)["goodput"]
			if math.Abs(got-tt.goodput) > 0.06 {
				t.Errorf("goodput is %.2f, want %.2f", got, tt.goodput)
			}
		})
	}
}
