package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// asked counts the requests that get through.
type asked struct {
	backend.Backend

	requests int
}

func (a *asked) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	a.requests++
	return a.Backend.Decide(ctx, req, answers)
}

// remembering is a local store behind Refusals.
func remembering(t *testing.T, now func() int64) (*redis.Refusals, *asked) {
	t.Helper()
	behind := &asked{Backend: local.New(local.Options{Now: now})}
	r := redis.NewRefusals(behind, redis.RefusalOptions{Now: now})
	closeAfter(t, r)
	return r, behind
}

// TestRefusalsLikeTheStore: whatever is asked, nobody sees the memory but by the
// answers' source, and that what remains beside several refused hits may be what
// remained then.
func TestRefusalsLikeTheStore(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	r, _ := remembering(t, clock.Now)
	bare := local.New(local.Options{Now: clock.Now})
	closeAfter(t, bare)
	var rules []*backend.Rule
	for _, p := range []algorithms.Params{
		{Kind: algorithms.FixedWindow},
		{Kind: algorithms.SlidingCounter},
		{Kind: algorithms.SlidingLog},
		{Kind: algorithms.GCRA},
		{Kind: algorithms.TokenBucket, Overdraft: 5},
		{Kind: algorithms.LeakyQueue, MaxDelay: time.Second},
		{Kind: algorithms.Deny},
	} {
		p.Limit, p.Window = 5, 3*time.Second
		if p.Kind == algorithms.Deny {
			p.Limit = 0
		}
		rules = append(rules, newRule(t, p))
	}
	random := rand.New(rand.NewPCG(1, 2))
	const steps = 20_000
	for step := range steps {
		clock.Advance(time.Duration(random.IntN(50)) * time.Millisecond)
		req := &backend.Request{Charge: backend.Charge(1 + random.IntN(2))}
		for range 1 + random.IntN(2) {
			i := random.IntN(len(rules))
			a := ask(fmt.Sprint(i, random.IntN(2)), rules[i], int64(random.IntN(6)-1))
			a.Mode = backend.Mode(random.IntN(4))
			req.Asks = append(req.Asks, a)
		}
		got, want := make([]backend.Answer, len(req.Asks)), make([]backend.Answer, len(req.Asks))
		verdict, expected := r.Decide(t.Context(), req, got), bare.Decide(t.Context(), req, want)
		for i := range got {
			if got[i].Source == backend.FromCache && got[i].Remaining < want[i].Remaining {
				got[i].Remaining, got[i].Used = want[i].Remaining, want[i].Used
			}
			got[i].Source = backend.FromStore
		}
		if diff := cmp.Diff(want, got); diff != "" || verdict != expected {
			t.Fatalf("step %d: verdict %d, want %d; %+v (-want +got):\n%s", step, verdict, expected, req.Asks, diff)
		}
	}
	if r.Answers() < steps/30 {
		t.Errorf("%d answers of %d from memory, want a thirtieth at least", r.Answers(), steps)
	}
}

// TestRefusalsLT04: a key over its limit asks the store once a second.
func TestRefusalsLT04(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	r, behind := remembering(t, clock.Now)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 10, Window: time.Hour})
	for range 10 {
		s.want(backend.OK, backend.FromStore, ask("k", rule, 1))
	}
	first := s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 1))
	behind.requests = 0
	for range 5 * 1000 {
		s.want(backend.OverLimit, backend.FromCache, ask("k", rule, 1))
		clock.Advance(time.Second / 1000)
		if clock.Now()%int64(time.Second) == 0 {
			s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 1))
		}
	}
	if behind.requests != 5 {
		t.Errorf("%d requests reached the store in 5 s, want 5", behind.requests)
	}
	last := s.want(backend.OverLimit, backend.FromCache, ask("k", rule, 1))
	if diff := cmp.Diff(first[0].RetryAfter-5*time.Second, last[0].RetryAfter); diff != "" {
		t.Errorf("retry after (-want +got):\n%s", diff)
	}
}

type refuser struct {
	t *testing.T
	backend.Backend
}

// want asks, and checks verdict and source.
func (s refuser) want(verdict backend.Verdict, from backend.Source, asks ...backend.Ask) []backend.Answer {
	s.t.Helper()
	return s.charged(backend.AllOrNothing, verdict, from, asks...)
}

func (s refuser) charged(c backend.Charge, verdict backend.Verdict, from backend.Source, asks ...backend.Ask) []backend.Answer {
	s.t.Helper()
	answers := make([]backend.Answer, len(asks))
	got := s.Decide(s.t.Context(), &backend.Request{Charge: c, Asks: asks}, answers)
	if got != verdict || answers[0].Source != from {
		s.t.Errorf("verdict %d from %d, want %d from %d", got, answers[0].Source, verdict, from)
	}
	return answers
}

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

// TestRefusalsOV01: a low limit that a request brings along does not refuse those
// with a higher one, nor the rule's own.
func TestRefusalsOV01(t *testing.T) {
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

// TestRefusalsOfEqualKeys: hits that were added up do not speak for one ask.
func TestRefusalsOfEqualKeys(t *testing.T) {
	t.Parallel()
	r, _ := remembering(t, backendtest.NewClock().Now)
	s := refuser{t, r}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	s.want(backend.OverLimit, backend.FromStore, ask("k", rule, 3), ask("k", rule, 3))
	s.want(backend.OK, backend.FromStore, ask("k", rule, 3))
}

func (deaf) Decide(_ context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	for i := range answers {
		answers[i] = backend.Answer{Decision: algorithms.Decision{RetryAfter: time.Hour}, Source: backend.FromFallback, Err: redis.ErrTimeout}
	}
	return backend.Judge(req, answers)
}
