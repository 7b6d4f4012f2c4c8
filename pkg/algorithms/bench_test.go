package algorithms

import (
	"fmt"
	"testing"
	"time"
)

func benchmarkRules() []Params {
	return []Params{
		{Kind: GCRA, Limit: 1000, Window: time.Second},
		{Kind: GCRA, Limit: 999_999_937, Window: 365 * 24 * time.Hour},
		{Kind: LeakyQueue, Limit: 1000, Window: time.Second, MaxDelay: time.Millisecond},
		{Kind: FixedWindow, Limit: 1000, Window: time.Second},
		{Kind: FixedWindow, Limit: 1000, Window: time.Second, FirstHit: true, Overdraft: 10},
		{Kind: SlidingCounter, Limit: 1000, Window: time.Second},
		{Kind: SlidingCounter, Limit: 1000, Window: time.Second, Buckets: 10},
		{Kind: SlidingCounter, Limit: 1000, Window: time.Second, Buckets: 64},
		{Kind: SlidingLog, Limit: 1000, Window: time.Second},
		{Kind: Deny},
	}
}

func name(p Params) string {
	return fmt.Sprintf("kind=%d/limit=%d/buckets=%d", p.Kind, p.Limit, p.Buckets)
}

// BenchmarkDecide asks for one hit twice as often as the limit allows.
func BenchmarkDecide(b *testing.B) {
	for _, p := range benchmarkRules() {
		b.Run(name(p), func(b *testing.B) {
			k := newKey(b, p)
			now := int64(1_790_000_000_000_000_000)
			b.ReportAllocs()
			for b.Loop() {
				now += int64(time.Millisecond) / 2
				k.decide(now, 1)
			}
		})
	}
}
