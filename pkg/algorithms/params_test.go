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
		fields []string
	}{
		{"no kind", Params{}, []string{"kind"}},
		{"unknown kind", Params{Kind: Deny + 1}, []string{"kind"}},
		{"everything at once", Params{Kind: FixedWindow, Burst: 1, Overdraft: -1, Buckets: 2, MaxDelay: 1, MinLimit: 1, MaxLimit: 1, BurstNum: 2, BurstDen: 1}, []string{"window", "limit", "overdraft", "burst", "buckets", "max_delay", "min_limit", "max_limit", "burst_ratio"}},
		{"limit 0", Params{Kind: GCRA, Window: 1}, []string{"limit"}},
		{"limit too large", Params{Kind: GCRA, Limit: MaxCount + 1, Window: 1}, []string{"limit"}},
		{"window 0", Params{Kind: GCRA, Limit: 1}, []string{"window"}},
		{"window negative", Params{Kind: Deny, Window: -1}, []string{"window"}},
		{"window too long", Params{Kind: GCRA, Limit: 1, Window: MaxWindow + 1}, []string{"window"}},
		{"burst negative", Params{Kind: GCRA, Limit: 1, Window: 1, Burst: -1}, []string{"burst"}},
		{"burst too large", Params{Kind: GCRA, Limit: 1, Window: 1, Burst: MaxCount + 1}, []string{"burst"}},
		{"burst of a counter", Params{Kind: SlidingCounter, Limit: 1, Window: 1, Burst: 1}, []string{"burst"}},
		{"burst of an adaptive rule", Params{Kind: Adaptive, Limit: 1, Window: 1, Burst: 1, MinLimit: 1, MaxLimit: 1}, []string{"burst"}},
		{"overdraft too large", Params{Kind: GCRA, Limit: 1, Window: 1, Overdraft: MaxCount + 1}, []string{"overdraft"}},
		{"overdraft of a queue", Params{Kind: LeakyQueue, Limit: 1, Window: 1, Overdraft: 1}, []string{"overdraft"}},
		{"overdraft of a log", Params{Kind: SlidingLog, Limit: 1, Window: 1, Overdraft: 1}, []string{"overdraft"}},
		{"overdraft of a deny rule", Params{Kind: Deny, Overdraft: 1}, []string{"overdraft"}},
		{"limit of a deny rule", Params{Kind: Deny, Limit: 1}, []string{"limit"}},
		{"log too large", Params{Kind: SlidingLog, Limit: MaxLogLimit + 1, Window: 1}, []string{"limit"}},
		{"buckets negative", Params{Kind: SlidingCounter, Limit: 1, Window: 64, Buckets: -1}, []string{"buckets"}},
		{"too many buckets", Params{Kind: SlidingCounter, Limit: 1, Window: 65, Buckets: 65}, []string{"buckets"}},
		{"buckets that do not divide", Params{Kind: SlidingCounter, Limit: 1, Window: 10, Buckets: 3}, []string{"buckets"}},
		{"buckets of another kind", Params{Kind: SlidingLog, Limit: 1, Window: 10, Buckets: 2}, []string{"buckets"}},
		{"align of another kind", Params{Kind: GCRA, Limit: 1, Window: 1, FirstHit: true}, []string{"align"}},
		{"max_delay negative", Params{Kind: LeakyQueue, Limit: 1, Window: 1, MaxDelay: -1}, []string{"max_delay"}},
		{"max_delay of a meter", Params{Kind: LeakyMeter, Limit: 1, Window: 1, MaxDelay: 1}, []string{"max_delay"}},
		{"fill time by burst", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Burst: 101}, []string{"burst"}},
		{"fill time by overdraft", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Overdraft: 100}, []string{"overdraft"}},
		{"fill time by a ns", Params{Kind: GCRA, Limit: 3, Window: MaxWindow/1000 + 1, Burst: 300_000}, []string{"burst"}},
		{"no bounds", adaptive(0, 1, 0, 0, 0), []string{"min_limit", "max_limit"}},
		{"bounds too large", adaptive(MaxCount+1, 1, MaxCount+1, 0, 0), []string{"min_limit", "max_limit"}},
		{"bounds crossed", adaptive(3, 2, 2, 0, 0), []string{"min_limit"}},
		{"start below the bounds", adaptive(2, 1, 3, 0, 0), []string{"limit"}},
		{"start above the bounds", adaptive(2, 4, 3, 0, 0), []string{"limit"}},
		{"ratio 0", adaptive(1, 1, 1, 0, 1), []string{"burst_ratio"}},
		{"ratio without a denominator", adaptive(1, 1, 1, 1, 0), []string{"burst_ratio"}},
		{"ratio too large", adaptive(1, 1, 1, 1001, 1), []string{"burst_ratio"}},
		{"ratio of a large denominator", adaptive(1, 1, 1, math.MaxInt64, math.MaxInt64/1000-1), []string{"burst_ratio"}},
		{"burst beyond 32 bits", adaptive(1, 1, MaxCount, 2, 1), []string{"burst_ratio"}},
		{"fill time at the least limit", Params{Kind: Adaptive, Limit: 101, Window: MaxWindow, MinLimit: 1, MaxLimit: 101}, []string{"burst_ratio"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkRefused(t, test.params, test.fields...)
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
		{"shortest window", Params{Kind: GCRA, Limit: MaxCount, Window: 1}, MaxCount},
		{"longest fill time", Params{Kind: GCRA, Limit: 1, Window: MaxWindow, Burst: 70, Overdraft: 30}, 70},
		{"longest fill time of fractions", Params{Kind: GCRA, Limit: 3, Window: MaxWindow / 1000, Burst: 300_000}, 300_000},
		{"largest log", Params{Kind: SlidingLog, Limit: MaxLogLimit, Window: 1}, MaxLogLimit},
		{"most buckets", Params{Kind: SlidingCounter, Limit: 5, Window: 64, Buckets: 64, Overdraft: 9}, 5},
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
