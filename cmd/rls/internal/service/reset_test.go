package service_test

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// TestNoDelayOfARefusal, even if a store names one.
func TestNoDelayOfARefusal(t *testing.T) {
	t.Parallel()
	b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {algorithm: gcra, requests_per_unit: 2, unit: minute}}]")
	b.store = scripted{verdict: backend.OverLimit, answer: backend.Answer{Decision: algorithms.Decision{Allowed: true, Delay: time.Second}}}
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.k")}, withoutStatuses(b.ask(request(descriptor("k", "1")))))
}

// TestReset: whole seconds, rounded up; when refused the wait, else the time to
// full.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, limit string
		at          time.Duration // after noon
		ask         []codec.Descriptor
		want        time.Duration
	}{
		{"gcra admitted", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0, []codec.Descriptor{descriptor("k", "1")}, 6 * time.Second},
		{"part of a second", "algorithm: gcra, requests_per_unit: 10, unit: second", 0, []codec.Descriptor{descriptor("k", "1")}, time.Second},
		{"idle", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0, []codec.Descriptor{hits(0, descriptor("k", "1"))}, 0},
		{
			"gcra refused: until the same request passes", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0,
			[]codec.Descriptor{hits(10, descriptor("k", "1")), hits(2, descriptor("k", "1"))},
			12 * time.Second,
		},
		{
			"never: the window", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0,
			[]codec.Descriptor{hits(11, descriptor("k", "1"))},
			time.Minute,
		},
		{"a window on the grid: its end", "requests_per_unit: 10, unit: minute", 12500 * time.Millisecond, []codec.Descriptor{descriptor("k", "1")}, 48 * time.Second},
		{"even for a look", "requests_per_unit: 10, unit: minute", 12500 * time.Millisecond, []codec.Descriptor{hits(0, descriptor("k", "1"))}, 48 * time.Second},
		{
			"a window from its first hit", "align: first, requests_per_unit: 10, unit: minute", 12500 * time.Millisecond,
			[]codec.Descriptor{descriptor("k", "1")},
			time.Minute,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {"+row.limit+"}}]")
			b.now += int64(row.at)
			var got *codec.Response
			for _, d := range row.ask {
				got = b.ask(request(d))
			}
			if s := got.Statuses[0]; !s.HasReset || s.Reset != row.want {
				t.Errorf("reset %s, want %s", s.Reset, row.want)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: slow, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 3, unit: second}}
  - {key: fast, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 10, unit: second}}
  - {key: seen, shadow_mode: true, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 1, period: 200s, burst: 5}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: second}}
`)
	slow, fast, seen := descriptor("slow", "1"), descriptor("fast", "1"), descriptor("seen", "1")
	delay := func(want string, d ...codec.Descriptor) {
		t.Helper()
		got := ""
		for _, f := range b.ask(request(d...)).DynamicMetadata {
			if f.Key == "rls.delay_ms" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("delay %q, want %q", got, want)
		}
	}
	delay("", slow, fast, seen)
	delay("334", slow, fast, seen) // a third of a second, rounded up; the shadow rule's 200 s do not count
	delay("200", fast)
	delay("", slow, descriptor("deny", "1")) // refused
	delay("667", slow)
	b.options.Shadow = true
	delay("", fast) // nothing is enforced
}
