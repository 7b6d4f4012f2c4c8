package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScenarioFiles(t *testing.T) {
	t.Parallel()
	var names []string
	for _, sc := range all(t) {
		names = append(names, sc.Name)
	}
	want := []string{
		"steady", "underload", "drop60", "drop60_low", "noisy", "baseline2x", "slow_reporter", "stuck_reporter",
		"attack_high", "attack_low", "silent", "flapping", "threshold_drop60", "threshold_baseline2x",
		"few_steady", "few_drop60", "few_noisy", "few_threshold", "tiny_drop60",
		"timeouts_drop60", "timeouts_late", "timeouts_for_good", "threshold_for_good", "slow_steady", "slow_drop60",
		"slow_noisy", "slow_overload", "threshold_300", "threshold_400", "threshold_400_steady",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	drop := named(t, "drop60")
	if diff := cmp.Diff(Bounds{Min: 50, Max: 2000, Start: 400, Quantile: 0.5}, drop.Controller); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Steps{{0, 750}}, drop.Offered); diff != "" {
		t.Errorf("what the base offers, after scenarios that offer something else (-want +got):\n%s", diff)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	var sc Scenario
	if err := strict([]byte(`{"servers": 3, "deadline": 100}`), &sc); err == nil {
		t.Errorf("deadline became %+v", sc)
	}
}
