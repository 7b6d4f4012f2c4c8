package algorithms

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The answers are envoyproxy/ratelimit's, at a limit of 10 in a window of 60 ns.
func TestCountRefused(t *testing.T) {
	t.Parallel()
	type attempt struct {
		now, hits int64
		allowed   bool
		remaining int64
		used      int64
	}
	tests := []struct {
		name     string
		first    bool
		attempts []attempt
	}{
		{"a look passes at the limit and is over above it", false, []attempt{
			{60, 10, true, 0, 10}, {61, 0, true, 0, 10}, {62, 1, false, 0, 11}, {63, 0, false, 0, 11}, {120, 0, true, 10, 0},
		}},
		{"refused hits count", false, []attempt{{60, 9, true, 1, 9}, {61, 2, false, 0, 11}, {62, 1, false, 0, 12}, {120, 1, true, 9, 1}}},
		{"hits that straddle the limit burn the rest", false, []attempt{{60, 11, false, 0, 11}, {61, 1, false, 0, 12}}},
		{"the count saturates", false, []attempt{
			{60, math.MaxInt64, false, 0, maxCounted},
			{61, math.MaxInt64, false, 0, maxCounted},
			{62, 0, false, 0, maxCounted},
			{120, 1, true, 9, 1},
		}},
		{"a refund gives back what is held", false, []attempt{
			{60, 12, false, 0, 12}, {61, -1, true, 0, 11}, {62, -3, true, 2, 8}, {63, math.MinInt64, true, 10, 0}, {64, 10, true, 0, 10},
		}},
		{"a step back holds the window", false, []attempt{{60, 10, true, 0, 10}, {59, 1, false, 0, 11}, {119, 0, false, 0, 11}, {120, 0, true, 10, 0}}},
		{"from the first hit", true, []attempt{{70, 0, true, 10, 0}, {80, 11, false, 0, 11}, {139, 0, false, 0, 11}, {140, 0, true, 10, 0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newKey(t, Params{Kind: FixedWindow, Limit: 10, Window: 60, FirstHit: test.first})
			k.countRefused = true
			for _, want := range test.attempts {
				d := k.decide(want.now, want.hits)
				got := attempt{want.now, want.hits, d.Allowed, d.Remaining, k.rule.Used(k.state, want.now)}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(attempt{})); diff != "" {
					t.Fatalf("attempt (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A count that was made with refused hits still is a count when they stop counting.
func TestDecideReadsRefusedHits(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Params{Kind: FixedWindow, Limit: 10, Window: 60})
	state, _ := r.DecideCountRefused(State{}, 60, math.MaxInt64)
	_, got := r.Decide(state, 61, 1)
	if diff := cmp.Diff(Decision{RetryAfter: 59, ResetAfter: 59}, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}
