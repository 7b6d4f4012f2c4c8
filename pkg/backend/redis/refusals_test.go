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
			a := ask(fmt.Sprint(i, random.IntN(2)), rules[i], int64(random.IntN(8)-1))
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

// TestLT04Refusals: a key over its limit asks the store once a second.
func TestLT04Refusals(t *testing.T) {
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
