package model

import (
	"cmp"
	"testing"
)

// The seeds of the runs that are judged. The controller was tuned on others.
const firstSeed = 1

// TestScenarios holds the product's controller to the figures that each scenario
// states, as means over the seeds.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, sc := range all(t) {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			if len(sc.Accept) == 0 {
				t.Fatal("nothing is asked of it")
			}
			for _, miss := range average(t, &sc, "delivered", cmp.Or(sc.Seeds, 5)).Misses(sc.Accept) {
				t.Error(miss)
			}
		})
	}
}

func all(t *testing.T) []Scenario {
	t.Helper()
	scenarios, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	weak, err := Weak()
	if err != nil {
		t.Fatal(err)
	}
	return append(scenarios, weak...)
}

// average is of the runs of the first seeds.
func average(t *testing.T, sc *Scenario, controller string, seeds uint64) Figures {
	t.Helper()
	for _, c := range Contenders() {
		if c.Name != controller {
			continue
		}
		f, err := Average(sc, c.New, firstSeed, seeds)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Fatalf("no controller %s", controller)
	return nil
}
