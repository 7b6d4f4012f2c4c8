package store

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// TestReplayForgetsNothingByItself: a trace that steps back finds what it left,
// however long it took to read by the wall clock.
func TestReplayForgetsNothingByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Int64
		store, closing, err := OpenReplay(t.Context(), &settings.Settings{Backend: "local", LocalMaxKeys: 10}, now.Load)
		if err != nil {
			t.Fatal(err)
		}
		defer closing() //nolint:errcheck // of a local store, never fails
		limit, err := algorithms.New(algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
		allowed := func() bool {
			answers := make([]backend.Answer, 1)
			store.Decide(t.Context(), &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{{Key: []byte("k"), Rule: rule, Hits: 1}}}, answers)
			return answers[0].Allowed
		}
		if !allowed() {
			t.Fatal("the first hit is refused")
		}
		now.Store(int64(time.Hour))
		time.Sleep(time.Hour) // of the bubble's clock: many rounds of a sweeper
		synctest.Wait()
		now.Store(int64(time.Second))
		if allowed() {
			t.Error("a second hit within the minute is allowed, want it refused")
		}
	})
}
