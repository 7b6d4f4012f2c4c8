package local

import (
	"runtime"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

func logRule(tb testing.TB, limit int64) *backend.Rule {
	tb.Helper()
	return newRule(tb, algorithms.Params{Kind: algorithms.SlidingLog, Limit: limit, Window: time.Hour})
}

// TestLogsAreCounted: the gauge knows what logs take, and that it is given back.
func TestLogsAreCounted(t *testing.T) {
	t.Parallel()
	l, clock := newSmall(t, 1000)
	rule := logRule(t, 10_000)
	before := l.Stats().MemoryBytes
	for _, key := range []string{"A", "B", "C"} {
		decide(t, l, backend.AllOrNothing, asks(ask(key, rule, 10_000)), true)
	}
	if grown := l.Stats().MemoryBytes - before; grown < 3*80_000 || grown > 3*80_000+3*pageBytes+1000 {
		t.Errorf("%d bytes for three logs of 10,000 entries, want 8 an entry", grown)
	}
	clock.Advance(2 * time.Hour)
	sweepRound(l)
	if left := l.Stats().MemoryBytes; left > 1000 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestManyLimitsOneLog: a request with many limits for one large log copies it a
// few times and grows it, and does not hold a copy for each.
func TestManyLimitsOneLog(t *testing.T) { // not parallel: it counts memory
	l, _ := newSmall(t, 1000)
	const entries, limits = 50_000, 1000
	decide(t, l, backend.AllOrNothing, asks(ask("A", logRule(t, entries), entries-10)), true)
	req := &backend.Request{Charge: backend.AllOrNothing}
	for i := range limits {
		req.Asks = append(req.Asks, ask("A", logRule(t, entries+int64(i)), 1))
	}
	answers := make([]backend.Answer, limits)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l.Decide(t.Context(), req, answers)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > limits/4*8*entries {
		t.Errorf("%d bytes, want at most what a copy for every fourth limit takes, %d", got, limits/4*8*entries)
	}
}
