package algorithms

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRule(t *testing.T) {
	t.Parallel()
	type numbers struct {
		Kind                                Kind
		Family                              string
		Layout                              Layout
		Limit, Capacity, Overdraft, Buckets int64
		Window                              time.Duration
	}
	tests := []struct {
		name   string
		params Params
		want   numbers
	}{
		{"fixed", Params{Kind: FixedWindow, Limit: 9, Window: 60, Overdraft: 3}, numbers{FixedWindow, "fixed", Inline, 9, 9, 3, 1, 60}},
		{"counter", Params{Kind: SlidingCounter, Limit: 9, Window: 60}, numbers{SlidingCounter, "counter", Inline, 9, 9, 0, 1, 60}},
		{"counter of buckets", Params{Kind: SlidingCounter, Limit: 9, Window: 60, Buckets: 2}, numbers{SlidingCounter, "counter", InCounts, 9, 9, 0, 2, 60}},
		{"log", Params{Kind: SlidingLog, Limit: 9, Window: 60}, numbers{SlidingLog, "log", InLog, 9, 9, 0, 1, 60}},
		{"token bucket", Params{Kind: TokenBucket, Limit: 9, Window: 60, Burst: 5, Overdraft: 1}, numbers{TokenBucket, "tat", Inline, 9, 5, 1, 1, 60}},
		{"meter", Params{Kind: LeakyMeter, Limit: 9, Window: 60}, numbers{LeakyMeter, "tat", Inline, 9, 9, 0, 1, 60}},
		{"queue", Params{Kind: LeakyQueue, Limit: 9, Window: 60}, numbers{LeakyQueue, "tat", Inline, 9, 9, 0, 1, 60}},
		{"gcra", Params{Kind: GCRA, Limit: 9, Window: 60}, numbers{GCRA, "tat", Inline, 9, 9, 0, 1, 60}},
		{"adaptive", Params{Kind: Adaptive, Limit: 9, Window: 60, MinLimit: 1, MaxLimit: 9}, numbers{Adaptive, "tat", Inline, 9, 9, 0, 1, 60}},
		{"deny", Params{Kind: Deny, Window: 60}, numbers{Deny, "deny", Stateless, 0, 0, 0, 1, 60}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := mustNew(t, test.params)
			got := numbers{r.Kind(), r.Kind().Family().String(), r.Layout(), r.Limit(), r.Capacity(), r.Overdraft(), r.Buckets(), r.Window()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidFamily(t *testing.T) {
	t.Parallel()
	if got := Kind(0).Family().String(); got != "Family(0)" {
		t.Errorf("the family of no kind is %q", got)
	}
}

func TestWithLimit(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Params{Kind: Adaptive, Limit: 50, Window: time.Second, MinLimit: 20, MaxLimit: 100, BurstNum: 1, BurstDen: 10})
	tests := []struct {
		name                  string
		limit, want, capacity int64
	}{
		{"higher", 70, 70, 7},
		{"above the bounds", math.MaxInt64, 100, 10},
		{"below the bounds", math.MinInt64, 20, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := r.WithLimit(test.limit)
			if got.Limit() != test.want || got.Capacity() != test.capacity || r.Limit() != 50 {
				t.Errorf("limit %d and capacity %d, want %d and %d; before %d, want 50", got.Limit(), got.Capacity(), test.want, test.capacity, r.Limit())
			}
		})
	}
	if r.WithLimit(50) != r {
		t.Error("the limit in force makes another rule")
	}
	if fixed := mustNew(t, Params{Kind: GCRA, Limit: 5, Window: 1}); fixed.WithLimit(9) != fixed {
		t.Error("a rule that is not adaptive takes another limit")
	}
}

func TestDenyAnswersNever(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Params{Kind: Deny, Window: time.Minute})
	for _, hits := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		state, got := r.Decide(State{1, 2, 3}, 5, hits)
		if diff := cmp.Diff(Decision{RetryAfter: Never}, got); diff != "" || state != (State{}) {
			t.Errorf("%d hits leave %v (-want +got):\n%s", hits, state, diff)
		}
	}
}

func TestWrongMethodPanics(t *testing.T) {
	t.Parallel()
	log := mustNew(t, Params{Kind: SlidingLog, Limit: 1, Window: 1})
	buckets := mustNew(t, Params{Kind: SlidingCounter, Limit: 1, Window: 2, Buckets: 2})
	tests := []struct {
		name string
		call func()
	}{
		{"Decide of a log", func() { log.Decide(State{}, 0, 1) }},
		{"Decide of buckets", func() { buckets.Decide(State{}, 0, 1) }},
		{"DecideLog of buckets", func() { buckets.DecideLog(new(Log), 0, 1) }},
		{"DecideCounts of a log", func() { log.DecideCounts(new(Counts), 0, 1) }},
		{"DecideCountRefused of a log", func() { log.DecideCountRefused(State{}, 0, 1) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			test.call()
		})
	}
}
