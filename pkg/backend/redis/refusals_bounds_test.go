package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestFailuresAreNotRemembered: only the store's own refusals are.
func TestFailuresAreNotRemembered(t *testing.T) {
	t.Parallel()
	r := redis.NewRefusals(deaf{}, redis.RefusalOptions{Now: backendtest.NewClock().Now})
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	rule.OnError = backend.OnErrorDeny
	for range 2 {
		s.want(backend.OverLimit, backend.FromFallback, ask("k", rule, 1))
	}
	if r.Answers() != 0 {
		t.Errorf("%d answers from memory, want none", r.Answers())
	}
}

// deaf is a store that denies by policy.
type deaf struct{ backend.Backend }

func (deaf) Decide(_ context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	for i := range answers {
		answers[i] = backend.Answer{Decision: algorithms.Decision{RetryAfter: time.Hour}, Source: backend.FromFallback, Err: redis.ErrTimeout}
	}
	return backend.Judge(req, answers)
}

// TestRefusalsAreBounded: a flood of refused keys takes the place of others.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	r := redis.NewRefusals(local.New(local.Options{Now: clock.Now}), redis.RefusalOptions{Now: clock.Now, MaxKeys: 640})
	closeAfter(t, r)
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	refuse := func(key string) (cached bool) {
		answers := make([]backend.Answer, 1)
		r.Decide(t.Context(), &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask(key, rule, 2)}}, answers)
		return answers[0].Source == backend.FromCache
	}
	const keys = 5000
	for i := range keys {
		refuse(fmt.Sprint("k", i))
	}
	held := 0
	for i := range keys {
		if refuse(fmt.Sprint("k", keys-1-i)) {
			held++
		}
	}
	if held == 0 || held > 2*640 { // those asked for again in vain are remembered, too
		t.Errorf("%d of %d refused keys were remembered, want some and at most 1280", held, keys)
	}
}

// TestRefusalsAtOnce is for the race detector: the limit holds.
func TestRefusalsAtOnce(t *testing.T) {
	t.Parallel()
	r := redis.NewRefusals(local.New(local.Options{}), redis.RefusalOptions{})
	closeAfter(t, r)
	rule := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 100, Window: 365 * 24 * time.Hour})
	var workers sync.WaitGroup
	oks := make([]int, 8)
	for w := range oks {
		workers.Go(func() {
			answers := make([]backend.Answer, 1)
			for range 500 {
				req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", rule, 1)}}
				if r.Decide(t.Context(), req, answers) == backend.OK {
					oks[w]++
				}
			}
		})
	}
	workers.Wait()
	total := 0
	for _, n := range oks {
		total += n
	}
	if total != 100 || r.Answers() == 0 {
		t.Errorf("%d admitted, %d answered from memory, want 100 and some", total, r.Answers())
	}
}

// TestRememberedRefusalsAllocateNothing, and neither does the way past them.
func TestRememberedRefusalsAllocateNothing(t *testing.T) {
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	r := redis.NewRefusals(local.New(local.Options{}), redis.RefusalOptions{})
	closeAfter(t, r)
	req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", rule, 2)}}
	answers := make([]backend.Answer, 1)
	if n := testing.AllocsPerRun(1000, func() { r.Decide(t.Context(), req, answers) }); n > 0 {
		t.Errorf("%v allocations a refusal, want none", n)
	}
}
