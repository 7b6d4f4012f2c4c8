package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestRefusalsThatDoNotHold go to the store.
func TestRefusalsThatDoNotHold(t *testing.T) {
	t.Parallel()
	hour := func(kind algorithms.Kind, limit int64) *backend.Rule {
		return newRule(t, algorithms.Params{Kind: kind, Limit: limit, Window: time.Hour})
	}
	window, arrivals := hour(algorithms.FixedWindow, 5), hour(algorithms.GCRA, 5)
	postPaid := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 5, Window: time.Hour, Overdraft: 100})
	counting := *window
	counting.CountRefused = true
	withMode := func(a backend.Ask, m backend.Mode) backend.Ask {
		a.Mode = m
		return a
	}
	const ok, over, store, cache = backend.OK, backend.OverLimit, backend.FromStore, backend.FromCache
	for _, row := range []struct {
		name    string
		charge  backend.Charge
		refused backend.Ask // after 3 of 5 hits
		verdict backend.Verdict
		from    backend.Source
		asks    []backend.Ask
	}{
		{"the same", 0, ask("k", window, 3), over, cache, []backend.Ask{ask("k", window, 3)}},
		{"the same, bound again by a reload", 0, ask("k", window, 3), over, cache, []backend.Ask{ask("k", hour(algorithms.FixedWindow, 5), 3)}},
		{"twice in a request", 0, ask("k", window, 3), over, store, []backend.Ask{ask("k", window, 3), ask("k", window, 3)}},
		{"more of a window", 0, ask("k", window, 3), over, cache, []backend.Ask{ask("k", window, 6)}},
		{"more hits, which wait longer", 0, ask("k", arrivals, 3), over, store, []backend.Ask{ask("k", arrivals, 4)}},
		{"fewer hits", 0, ask("k", window, 3), ok, store, []backend.Ask{ask("k", window, 2)}},
		{"a look with budget left", 0, ask("k", window, 3), ok, store, []backend.Ask{ask("k", window, 0)}},
		{"a refund", 0, ask("k", window, 3), ok, store, []backend.Ask{ask("k", window, -1)}},
		{"another key", 0, ask("k", window, 3), ok, store, []backend.Ask{ask("l", window, 3)}},
		{"a higher limit", 0, ask("k", window, 3), ok, store, []backend.Ask{ask("k", hour(algorithms.FixedWindow, 6), 3)}},
		{"a lower limit", 0, ask("k", window, 3), over, store, []backend.Ask{ask("k", hour(algorithms.FixedWindow, 4), 3)}},
		{"another kind", 0, ask("k", arrivals, 3), over, store, []backend.Ask{ask("k", hour(algorithms.TokenBucket, 5), 3)}},
		{"beside one that passes", 0, ask("k", window, 3), over, store, []backend.Ask{ask("k", window, 3), ask("l", window, 1)}},
		{"in shadow", 0, ask("k", window, 3), ok, cache, []backend.Ask{withMode(ask("k", window, 3), backend.Shadow)}},
		{"as the only quota", 0, ask("k", window, 3), over, cache, []backend.Ask{withMode(ask("k", window, 3), backend.Quota)}},
		{"a charge that is post-paid", 0, ask("k", postPaid, 3), over, store, []backend.Ask{ask("k", postPaid, 3)}},
		{"refused hits count", backend.CountRefused, ask("k", &counting, 3), over, store, []backend.Ask{ask("k", &counting, 3)}},
		{"a look at what would be charged", backend.Look, ask("k", window, 3), over, store, []backend.Ask{ask("k", window, 3)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, _ := remembering(t, backendtest.NewClock().Now)
			s := refuser{t, r}
			before := max(row.charge, backend.AllOrNothing)
			if before == backend.Look {
				before = backend.Independent
			}
			paid := row.refused
			s.charged(before, ok, store, paid)
			s.charged(before, over, store, row.refused)
			s.charged(max(row.charge, backend.AllOrNothing), row.verdict, row.from, row.asks...)
		})
	}
}

// TestOV01Refusals: a low limit that a request brings along does not refuse those
// with a higher one, nor the rule's own.
func TestOV01Refusals(t *testing.T) {
	t.Parallel()
	r, _ := remembering(t, backendtest.NewClock().Now)
	s := refuser{t, r}
	limited := func(n int64) backend.Ask {
		return ask("k", newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: n, Window: time.Minute}), 1)
	}
	s.want(backend.OK, backend.FromStore, limited(1))
	s.want(backend.OverLimit, backend.FromStore, limited(1))
	s.want(backend.OverLimit, backend.FromCache, limited(1))
	s.want(backend.OK, backend.FromStore, limited(100))
	s.want(backend.OK, backend.FromStore, limited(3))
	s.want(backend.OverLimit, backend.FromStore, limited(3))
	s.want(backend.OverLimit, backend.FromStore, limited(1))
}

// TestRefundsEndRefusals: at once, in this process, even those that are still on
// their way.
func TestRefundsEndRefusals(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	gate := &gated{Backend: local.New(local.Options{Now: clock.Now})}
	r := redis.NewRefusals(gate, redis.RefusalOptions{Now: clock.Now})
	closeAfter(t, r)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	one := ask("k", rule, 1)
	s.want(backend.OK, backend.FromStore, one)
	s.want(backend.OverLimit, backend.FromStore, one)
	s.want(backend.OverLimit, backend.FromCache, one)
	s.want(backend.OK, backend.FromStore, ask("k", rule, -1))
	s.want(backend.OK, backend.FromStore, one)

	gate.before = func() { s.want(backend.OK, backend.FromStore, ask("k", rule, -1)) }
	s.want(backend.OverLimit, backend.FromStore, one)
	s.want(backend.OK, backend.FromStore, one)

	gate.before = func() {
		s.want(backend.OK, backend.FromStore, append(make([]backend.Ask, 0, 17), manyRefunds(one)...)...)
	}
	s.want(backend.OverLimit, backend.FromStore, one)
	s.want(backend.OK, backend.FromStore, one)
}

// TestGiveBacksEndRefusals: what was refused for lack of hits that another request has
// given back since is not remembered.
func TestGiveBacksEndRefusals(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	gate := &gated{Backend: local.New(local.Options{Now: clock.Now})}
	r := redis.NewRefusals(gate, redis.RefusalOptions{Now: clock.Now})
	closeAfter(t, r)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	s.want(backend.OK, backend.FromStore, ask("k", rule, 1), ask("full", rule, 1))
	gate.before = func() { // k was full when it was asked, and has a hit less now
		gate.refund(t, ask("k", rule, -1))
		s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 1), ask("full", rule, 1))
	}
	s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 1))
	s.want(backend.OK, backend.FromStore, ask("k", rule, 1))
}

// refund refunds hits without the memory's knowledge.
func (g *gated) refund(t *testing.T, a backend.Ask) {
	t.Helper()
	g.Backend.Decide(t.Context(), &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{a}}, make([]backend.Answer, 1))
}

// manyRefunds are more asks than are remembered of one request.
func manyRefunds(a backend.Ask) []backend.Ask {
	asks := make([]backend.Ask, 17)
	for i := range asks {
		asks[i] = a
		asks[i].Key = fmt.Append(nil, string(a.Key)+"-", i)
		asks[i].Hits = -1
	}
	asks[0].Key = a.Key
	return asks
}

// gated does something, once, between a decision and its return.
type gated struct {
	backend.Backend

	before func()
}

func (g *gated) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	verdict := g.Backend.Decide(ctx, req, answers)
	if do := g.before; do != nil {
		g.before = nil
		do()
	}
	return verdict
}

// TestRefusalsHoldFromTheQuestion: a second after it was asked, however late the
// answer came, since a refund may have come just after.
func TestRefusalsHoldFromTheQuestion(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	gate := &gated{Backend: local.New(local.Options{Now: clock.Now})}
	r := redis.NewRefusals(gate, redis.RefusalOptions{Now: clock.Now})
	closeAfter(t, r)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	gate.before = func() { clock.Advance(600 * time.Millisecond) }
	s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 2))
	clock.Advance(399 * time.Millisecond)
	s.want(backend.OverLimit, backend.FromCache, ask("k", rule, 2))
	clock.Advance(time.Millisecond)
	s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 2))
}

// TestRefusalsOfEqualKeys: hits that were added up do not speak for one ask.
func TestRefusalsOfEqualKeys(t *testing.T) {
	t.Parallel()
	r, _ := remembering(t, backendtest.NewClock().Now)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 3), ask("k", rule, 3))
	s.want(backend.OK, backend.FromStore, ask("k", rule, 3))
}
