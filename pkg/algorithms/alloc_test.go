//go:build !race

package algorithms

import (
	"testing"
	"time"
)

// TestNoDecisionAllocates covers a refusal, a look, a refund and a charge of
// every kind. The race detector allocates for itself; other tests do, too, so
// this one does not run beside them.
func TestNoDecisionAllocates(t *testing.T) {
	for _, rule := range benchmarkRules() {
		k := newKey(t, rule.params)
		now := int64(1_790_000_000_000_000_000)
		round := func() {
			for _, hits := range []int64{5, -3, 0, 1, 1000, 3, -1 << 62} {
				now += int64(time.Millisecond)
				k.decide(now, hits)
			}
		}
		if got := testing.AllocsPerRun(100, round); got != 0 {
			t.Errorf("%s: %v allocations in seven decisions, want 0", rule.name, got)
		}
	}
}
