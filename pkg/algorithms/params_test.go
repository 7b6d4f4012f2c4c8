package algorithms

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func checkRefused(t *testing.T, p Params, fields ...string) {
	t.Helper()
	_, err := New(p)
	var errs ParamErrors
	if !errors.As(err, &errs) {
		t.Fatalf("New(%+v): error %v, want ParamErrors", p, err)
	}
	got := make([]string, len(errs))
	for i, e := range errs {
		got[i] = e.Field
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("New(%+v): %v, fields (-want +got):\n%s", p, err, diff)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	adaptive := func(low, limit, high, num, den int64) Params {
		return Params{Kind: Adaptive, Limit: limit, Window: time.Second, MinLimit: low, MaxLimit: high, BurstNum: num, BurstDen: den}
	}
	tests := []struct {
		name   string
		params Params
		want   string
	}{
		{"no kind", Params{}, "kind is 0, must be a known algorithm"},
		{"unknown kind", Params{Kind: Deny + 1}, "kind is 10, must be a known algorithm"},
		{"everything at once", Params{Kind: FixedWindow, Burst: 1, Overdraft: -1, Buckets: 2, MaxDelay: 1, MinLimit: 1, MaxLimit: 1, BurstNum: 2, BurstDen: 1}, "window is 0s, must be 1ns to 8784h0m0s; limit is 0, must be 1 to 4294967295; overdraft is -1, must be 0 to 4294967295; burst is only for token_bucket, leaky_bucket and gcra; buckets is only for a sliding counter; max_delay is only for a leaky bucket as a queue; min_limit is only for adaptive; max_limit is only for adaptive; burst_ratio is only for adaptive"},
		{"limit 0", Params{Kind: GCRA, Window: 1}, "limit is 0, must be 1 to 4294967295"},
		{"limit too large", Params{Kind: GCRA, Limit: MaxCount + 1, Window: 1}, "limit is 4294967296, must be 1 to 4294967295"},
		{"window 0", Params{Kind: GCRA, Limit: 1}, "window is 0s, must be 1ns to 8784h0m0s"},
		{"window negative", Params{Kind: Deny, Window: -1}, "window is -1ns, must be 0s to 8784h0m0s"},
		{"window too long", Params{Kind: GCRA, Limit: 1, Window: MaxWindow + 1}, "window is 8784h0m0.000000001s, must be 1ns to 8784h0m0s"},
		{"burst negative", Params{Kind: GCRA, Limit: 1, Window: 1, Burst: -1}, "burst is -1, must be 1 to 4294967295"},
		{"burst too large", Params{Kind: GCRA, Limit: 1, Window: 1, Burst: MaxCount + 1}, "burst is 4294967296, must be 1 to 4294967295"},
		{"burst of a counter", Params{Kind: SlidingCounter, Limit: 1, Window: 1, Burst: 1}, "burst is only for token_bucket, leaky_bucket and gcra"},
		{"burst of an adaptive rule", Params{Kind: Adaptive, Limit: 1, Window: 1, Burst: 1, MinLimit: 1, MaxLimit: 1}, "burst is only for token_bucket, leaky_bucket and gcra"},
		{"overdraft too large", Params{Kind: GCRA, Limit: 1, Window: 1, Overdraft: MaxCount + 1}, "overdraft is 4294967296, must be 0 to 4294967295"},
		{"overdraft of a queue", Params{Kind: LeakyQueue, Limit: 1, Window: 1, Overdraft: 1}, "overdraft is not for a log, a queue or a limit of 0"},
		{"overdraft of a log", Params{Kind: SlidingLog, Limit: 1, Window: 1, Overdraft: 1}, "overdraft is not for a log, a queue or a limit of 0"},
		{"overdraft of a deny rule", Params{Kind: Deny, Overdraft: 1}, "overdraft is not for a log, a queue or a limit of 0"},
		{"limit of a deny rule", Params{Kind: Deny, Limit: 1}, "limit is 1, must be 0"},
		{"log too large", Params{Kind: SlidingLog, Limit: MaxLogLimit + 1, Window: 1}, "limit is 100001, must be 1 to 100000"},
		{"buckets negative", Params{Kind: SlidingCounter, Limit: 1, Window: 64, Buckets: -1}, "buckets is -1, must be 1 to 64"},
		{"too many buckets", Params{Kind: SlidingCounter, Limit: 1, Window: 65, Buckets: 65}, "buckets is 65, must be 1 to 64"},
		{"buckets that do not divide", Params{Kind: SlidingCounter, Limit: 1, Window: 10, Buckets: 3}, "buckets is 3, must divide the window of 10ns"},
		{"buckets of another kind", Params{Kind: SlidingLog, Limit: 1, Window: 10, Buckets: 2}, "buckets is only for a sliding counter"},
		{"align of another kind", Params{Kind: GCRA, Limit: 1, Window: 1, FirstHit: true}, "align is only for fixed_window"},
		{"max_delay negative", Params{Kind: LeakyQueue, Limit: 1, Window: 1, MaxDelay: -1}, "max_delay is -1ns, must be at least 0s"},
		{"max_delay of a meter", Params{Kind: LeakyMeter, Limit: 1, Window: 1, MaxDelay: 1}, "max_delay is only for a leaky bucket as a queue"},
		{"fill time by burst", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Burst: 101}, "burst makes the time to fill (101 hits at 1 per 8784h0m0s) longer than 878400h0m0s"},
		{"fill time by overdraft", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Overdraft: 100}, "overdraft makes the time to fill (101 hits at 1 per 8784h0m0s) longer than 878400h0m0s"},
		{"fill time by both", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Burst: 60, Overdraft: 60}, "burst makes the time to fill (120 hits at 1 per 8784h0m0s) longer than 878400h0m0s"},
		{"fill time by a ns", Params{Kind: GCRA, Limit: 3, Window: MaxWindow/1000 + 1, Burst: 300_000}, "burst makes the time to fill (300000 hits at 3 per 8h47m2.400000001s) longer than 878400h0m0s"},
		{"no bounds", adaptive(0, 1, 0, 0, 0), "min_limit is 0, must be 1 to 4294967295; max_limit is 0, must be 1 to 4294967295"},
		{"bounds too large", adaptive(MaxCount+1, 1, MaxCount+1, 0, 0), "min_limit is 4294967296, must be 1 to 4294967295; max_limit is 4294967296, must be 1 to 4294967295"},
		{"bounds crossed", adaptive(3, 2, 2, 0, 0), "min_limit is 3, must be at most max_limit, 2"},
		{"start below the bounds", adaptive(2, 1, 3, 0, 0), "limit is 1, must be 2 to 3, its min_limit and max_limit"},
		{"start above the bounds", adaptive(2, 4, 3, 0, 0), "limit is 4, must be 2 to 3, its min_limit and max_limit"},
		{"ratio 0", adaptive(1, 1, 1, 0, 1), "burst_ratio is 0/1, must be above 0, at most 1000"},
		{"ratio without a denominator", adaptive(1, 1, 1, 1, 0), "burst_ratio is 1/0, must be above 0, at most 1000"},
		{"ratio too large", adaptive(1, 1, 1, 1001, 1), "burst_ratio is 1001/1, must be above 0, at most 1000"},
		{"ratio of a large denominator", adaptive(1, 1, 1, math.MaxInt64, math.MaxInt64/1000-1), "burst_ratio is 9223372036854775807/9223372036854774, must be above 0, at most 1000"},
		{"burst beyond 32 bits", adaptive(1, 1, MaxCount, 2, 1), "burst_ratio makes a burst of 8589934590 at max_limit, must be at most 4294967295"},
		{"fill time at the least limit", Params{Kind: Adaptive, Limit: 101, Window: MaxWindow, MinLimit: 1, MaxLimit: 101}, "max_limit makes the time to fill (101 hits at 1 per 8784h0m0s) longer than 878400h0m0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(test.params)
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		params   Params
		capacity int64
	}{
		{"largest numbers", Params{Kind: GCRA, Limit: MaxCount, Window: MaxWindow, Burst: MaxCount, Overdraft: MaxCount}, MaxCount},
		{"burst below the limit", Params{Kind: GCRA, Limit: 9, Window: 1, Burst: 1}, 1},
		{"shortest window", Params{Kind: GCRA, Limit: MaxCount, Window: 1}, MaxCount},
		{"longest fill time", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Burst: 70, Overdraft: 30}, 70},
		{"longest fill time of fractions", Params{Kind: GCRA, Limit: 3, Window: MaxWindow / 1000, Burst: 300_000}, 300_000},
		{"largest log", Params{Kind: SlidingLog, Limit: MaxLogLimit, Window: 1}, MaxLogLimit},
		{"most buckets", Params{Kind: SlidingCounter, Limit: 5, Window: 64, Buckets: 64, Overdraft: 9}, 5},
		{"largest adaptive burst", Params{Kind: Adaptive, Limit: MaxCount, Window: 1, MinLimit: 1, MaxLimit: MaxCount}, MaxCount},
		{"a window never fills", Params{Kind: FixedWindow, Limit: 1, Window: MaxWindow, Overdraft: MaxCount}, 1},
		{"shortest wait", Params{Kind: LeakyQueue, Limit: 5, Window: 1, MaxDelay: 1}, 5},
		{"deny without a window", Params{Kind: Deny}, 0},
		{"deny with a window", Params{Kind: Deny, Window: MaxWindow}, 0},
		{"adaptive burst is one window's worth", Params{Kind: Adaptive, Limit: 7, Window: 1, MinLimit: 7, MaxLimit: 7}, 7},
		{"adaptive burst is rounded down", Params{Kind: Adaptive, Limit: 19, Window: 1, MinLimit: 1, MaxLimit: 19, BurstNum: 1, BurstDen: 10}, 1},
		{"adaptive burst is at least 1", Params{Kind: Adaptive, Limit: 9, Window: 1, MinLimit: 1, MaxLimit: 9, BurstNum: 1, BurstDen: 10}, 1},
		{"largest ratio", Params{Kind: Adaptive, Limit: 1, Window: 1, MinLimit: 1, MaxLimit: 1, BurstNum: 1000, BurstDen: 1}, 1000},
		{"longest fill time at the least limit", Params{Kind: Adaptive, Limit: 100, Window: MaxWindow, MinLimit: 1, MaxLimit: 100}, 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := mustNew(t, test.params).Capacity(); got != test.capacity {
				t.Errorf("capacity is %d, want %d", got, test.capacity)
			}
		})
	}
}

func TestParamErrors(t *testing.T) {
	t.Parallel()
	_, err := New(Params{Kind: SlidingLog, Window: time.Second, Overdraft: 5})
	want := "limit is 0, must be 1 to 100000; overdraft is not for a log, a queue or a limit of 0"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if r, err := New(Params{Kind: GCRA, Limit: 1, Window: 1}); r == nil || err != nil {
		t.Errorf("New = %v, error %v, want a rule and a nil error", r, err)
	}
}
