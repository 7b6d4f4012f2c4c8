package local

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// TestSweepInTime: what expires at once is gone after the round under way and
// the next one, however many pages the sweep itself frees.
func TestSweepInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const keys, every = 300_000, 10 * time.Second
		l := New(Options{Now: func() int64 { return time.Now().UnixNano() }, SweepEvery: every})
		defer l.Close() //nolint:errcheck // never fails
		limit, err := algorithms.New(algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
		for i := range keys {
			req := &backend.Request{Charge: backend.Independent, Asks: []backend.Ask{{Key: strconv.AppendInt(nil, int64(i), 10), Rule: rule, Hits: 1}}}
			l.Decide(t.Context(), req, make([]backend.Answer, 1))
		}
		if got := l.Stats().Keys; got != keys {
			t.Fatalf("%d keys, want %d", got, keys)
		}
		time.Sleep(time.Second + 2*every + every/ticks) // of the bubble's clock
		synctest.Wait()
		if stats := l.Stats(); stats.Keys != 0 || stats.MemoryBytes > 1<<20 {
			t.Errorf("%+v, want nothing left", stats)
		}
	})
}
