package redis_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

const loneSteps = walks * walkSteps * 5 / 2 // 100,000 without the race detector

// loneRules are rules of one state, most of them with whole intervals.
func loneRules(t *testing.T) []*backend.Rule {
	t.Helper()
	var rules []*backend.Rule
	for _, p := range []algorithms.Params{
		{Kind: algorithms.GCRA, Limit: 10},
		{Kind: algorithms.GCRA, Limit: 10, Burst: 3},
		{Kind: algorithms.TokenBucket, Limit: 1000, Burst: 40},
		{Kind: algorithms.LeakyQueue, Limit: 5, MaxDelay: 300 * time.Millisecond},
		{Kind: algorithms.LeakyMeter, Limit: 7},
		{Kind: algorithms.GCRA, Limit: 10, Burst: 4, Overdraft: 3},
	} {
		p.Window = time.Second
		rules = append(rules, newRule(t, p))
	}
	return rules
}

// TestLone makes requests of one ask each, the bulk of which lone.lua decides, and
// compares them with the model. Keys are met under changing rules.
func TestLone(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s, model := open(t, shared.shared, redis.Options{Now: clock.Now}), backendtest.NewModel(clock.Now)
	rules, r := loneRules(t), rand.New(rand.NewPCG(3, 4))
	admitted := 0
	for step := range loneSteps {
		clock.Advance(time.Duration(r.Int64N(60_000)-5_000) * time.Microsecond)
		hits := int64(1 + r.ExpFloat64())
		if r.IntN(20) == 0 {
			hits = []int64{-2, 0, math.MaxInt64}[r.IntN(3)]
		}
		req := &backend.Request{Charge: backend.AllOrNothing + backend.Charge(r.IntN(2)), Asks: []backend.Ask{
			ask(strconv.Itoa(r.IntN(8)), rules[min(r.IntN(12), r.IntN(len(rules)))], hits),
		}}
		want, got := make([]backend.Answer, 1), make([]backend.Answer, 1)
		model.Decide(t.Context(), req, want)
		s.Decide(t.Context(), req, got)
		if diff := cmp.Diff(rounded(want), got); diff != "" {
			t.Fatalf("step %d, %d hits of %d (-want +got):\n%s", step, hits, req.Asks[0].Rule.Limit.Limit(), diff)
		}
		if hits > 0 && got[0].Allowed {
			admitted++
		}
	}
	if least := loneSteps / 3; admitted < least {
		t.Errorf("%d charges in %d steps, want %d", admitted, loneSteps, least)
	}
}

// rounded are answers with durations as Redis tells them, in whole microseconds.
func rounded(answers []backend.Answer) []backend.Answer {
	for i := range answers {
		for _, d := range []*time.Duration{&answers[i].RetryAfter, &answers[i].ResetAfter, &answers[i].Delay} {
			if *d > 0 {
				*d = (*d + time.Microsecond - 1).Truncate(time.Microsecond)
			}
		}
	}
	return answers
}

// TestLoneTogether has one call of the script decide asks of every sort, and wants
// each to be answered as if it were by itself.
func TestLoneTogether(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s := open(t, shared.shared, redis.Options{Now: clock.Now})
	model := backendtest.NewModel(clock.Now)
	whole := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 10, Window: time.Second})
	frac := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 7, Window: time.Second})
	log := newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: 10, Window: time.Second})
	of := func(charge backend.Charge, asks ...backend.Ask) *backend.Request {
		return &backend.Request{Charge: charge, Asks: asks}
	}
	all := []*backend.Request{
		of(backend.AllOrNothing, ask("charge", whole, 2)),
		of(backend.AllOrNothing, ask("other", log, 3)),
		of(backend.AllOrNothing, ask("all", whole, 10)),
		of(backend.AllOrNothing, ask("one", whole, 3), ask("two", whole, 4)),
		of(backend.Look, ask("look", whole, 1)),
		of(backend.AllOrNothing, ask("too many", whole, 11)),
		of(backend.Independent, ask("changed", whole, 1)),
		of(backend.Independent, ask("first", frac, 1), ask("first", whole, 2)),
		of(backend.CountRefused, ask("counted", whole, 4)),
	}
	for round := range 8 {
		answers := s.Together(t, all)
		for i, req := range all {
			want := make([]backend.Answer, len(req.Asks))
			model.Decide(t.Context(), req, want)
			if diff := cmp.Diff(rounded(want), answers[i]); diff != "" {
				t.Errorf("round %d, request %d (-want +got):\n%s", round, i, diff)
			}
		}
		all[6].Asks[0].Rule = []*backend.Rule{frac, whole}[round%2]
		clock.Advance(130 * time.Millisecond)
	}
}

// TestLoneEqualKeys wants what one call of the script charges to count for the
// next request in it.
func TestLoneEqualKeys(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 3, Window: time.Hour})
	one := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", rule, 1)}}
	var remaining []int64
	for _, a := range s.Together(t, []*backend.Request{one, one, one, one}) {
		remaining = append(remaining, a[0].Remaining)
	}
	if diff := cmp.Diff([]int64{2, 1, 0, 0}, remaining); diff != "" {
		t.Errorf("remaining (-want +got):\n%s", diff)
	}
}

// TestLoneForeign wants an error, and nothing written, for a lone ask whose key
// holds no state, and none for others in the same call.
func TestLoneForeign(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 3, Window: time.Hour})
	for _, value := range []string{"abc", "", "-5", "1.5", "0x10", "1e3", " 5", "90071992547409920", "5 7 3", "5\n6", "5|6"} {
		s.plant(t, value, func(key string) error { return s.client.Set(t.Context(), key, value, time.Hour).Err() })
		answers := s.Together(t, []*backend.Request{
			{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask(value, rule, 1)}},
			{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("other", rule, 1)}},
		})
		if redis.KindOf(answers[0][0].Err) != redis.Script || answers[1][0].Err != nil {
			t.Errorf("%q: errors %v, %v", value, answers[0][0].Err, answers[1][0].Err)
		}
		if got := s.client.Get(t.Context(), s.prefix+"1{}"+value).Val(); got != value {
			t.Errorf("%q has become %q", value, got)
		}
	}
	s.plant(t, "list", func(key string) error { return s.client.RPush(t.Context(), key, "x").Err() })
	_, answers := s.decide(t, backend.AllOrNothing, ask("list", rule, 1))
	if redis.KindOf(answers[0].Err) != redis.WrongType {
		t.Errorf("error on a list is %v", answers[0].Err)
	}
	s.client.Del(t.Context(), s.prefix+"1{}list")
}
