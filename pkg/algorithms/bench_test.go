package algorithms

import (
	"testing"
	"time"
)

type namedRule struct {
	name   string
	params Params
}

func benchmarkRules() []namedRule {
	return []namedRule{
		{"gcra", Params{Kind: GCRA, Limit: 1000, Window: time.Second}},
		{"gcra_fractions", Params{Kind: GCRA, Limit: 999_999_937, Window: 365 * 24 * time.Hour}},
		{"queue", Params{Kind: LeakyQueue, Limit: 1000, Window: time.Second, MaxDelay: time.Millisecond}},
		{"fixed", Params{Kind: FixedWindow, Limit: 1000, Window: time.Second}},
		{"fixed_first_hit", Params{Kind: FixedWindow, Limit: 1000, Window: time.Second, FirstHit: true, Overdraft: 10}},
		{"counter", Params{Kind: SlidingCounter, Limit: 1000, Window: time.Second}},
		{"counter_10", Params{Kind: SlidingCounter, Limit: 1000, Window: time.Second, Buckets: 10}},
		{"counter_64", Params{Kind: SlidingCounter, Limit: 1000, Window: 64 * time.Second, Buckets: 64}},
		{"log", Params{Kind: SlidingLog, Limit: 1000, Window: time.Second}},
		{"deny", Params{Kind: Deny}},
	}
}

// BenchmarkDecide asks for one hit twice as often as the limit allows.
func BenchmarkDecide(b *testing.B) {
	for _, rule := range benchmarkRules() {
		b.Run(rule.name, func(b *testing.B) {
			k := newKey(b, rule.params)
			now := int64(1_790_000_000_000_000_000)
			b.ReportAllocs()
			for b.Loop() {
				now += int64(time.Millisecond) / 2
				k.decide(now, 1)
			}
		})
	}
}
