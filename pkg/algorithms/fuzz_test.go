package algorithms

import (
	"fmt"
	"testing"
)

func tatKinds() []Kind { return []Kind{TokenBucket, LeakyMeter, LeakyQueue, GCRA, Adaptive} }

// TestModels walks every family beside the specification, over steps back,
// looks, refunds, debts, changed rules and the ends of every range.
func TestModels(t *testing.T) {
	t.Parallel()
	families := []struct {
		name         string
		countRefused bool
		kinds        []Kind
	}{
		{"tat", false, tatKinds()},
		{"fixed", false, []Kind{FixedWindow}},
		{"counter", false, []Kind{SlidingCounter}},
		{"log", false, []Kind{SlidingLog}},
		{"count refused", true, []Kind{FixedWindow}},
	}
	for _, family := range families {
		t.Run(family.name, func(t *testing.T) {
			t.Parallel()
			for seed := range 100 {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					if randomWalk(seed, 1000).against(t, family.countRefused, family.kinds...) == 0 {
						t.Fatal("a walk without a step")
					}
				})
			}
		})
	}
}

func fuzz(f *testing.F, countRefused bool, kinds ...Kind) {
	f.Helper()
	for seed := range 8 {
		f.Add(randomWalk(seed, 400).data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		(&walk{data: data}).against(t, countRefused, kinds...)
	})
}

func FuzzTAT(f *testing.F) { fuzz(f, false, tatKinds()...) }

func FuzzFixed(f *testing.F) { fuzz(f, false, FixedWindow) }

func FuzzCounter(f *testing.F) { fuzz(f, false, SlidingCounter) }

func FuzzLog(f *testing.F) { fuzz(f, false, SlidingLog) }

func FuzzCountRefused(f *testing.F) { fuzz(f, true, FixedWindow) }
