package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestLogEntries wants one entry an instant, however many hits it has.
func TestLogEntries(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s := open(t, shared.shared, redis.Options{Now: clock.Now})
	rule := newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: 100, Window: time.Hour})
	for instants := range int64(3) {
		s.admitted(t, 5, ask("k", rule, 2))
		if n := s.client.LLen(t.Context(), s.prefix+"1{}k").Val(); n != instants+1 {
			t.Errorf("%d entries of %d instants", n, instants+1)
		}
		clock.Advance(time.Microsecond)
	}
}

// TestLogExpiry has some of the oldest hits leave at once, any number of any number.
func TestLogExpiry(t *testing.T) {
	t.Parallel()
	const most = 12
	clock := backendtest.NewClock()
	s, model := open(t, shared.shared, redis.Options{Now: clock.Now}), backendtest.NewModel(clock.Now)
	rule := newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: most, Window: time.Second})
	for held := range most + 1 {
		for gone := range held + 1 {
			key := fmt.Sprintf("%d of %d", gone, held)
			decide := func(hits int64) {
				req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask(key, rule, hits)}}
				want, got := make([]backend.Answer, 1), make([]backend.Answer, 1)
				model.Decide(t.Context(), req, want)
				s.Decide(t.Context(), req, got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %d hits (-want +got):\n%s", key, hits, diff)
				}
			}
			for range held {
				decide(1)
				clock.Advance(time.Millisecond)
			}
			clock.Advance(time.Second - time.Duration(held-gone)*time.Millisecond - time.Microsecond)
			for _, hits := range []int64{0, 1, -1, most} {
				decide(hits)
			}
		}
	}
}
