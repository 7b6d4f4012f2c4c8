package backendtest

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// testSiblings exhausts a user's narrow budget: what is refused there must leave
// the broad budget to the other users, in either order of the descriptors.
func testSiblings(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		broad, narrow := rule(numbers{limit: 10, window: time.Minute}), rule(numbers{limit: 5, window: time.Minute})
		for _, order := range []string{"broad first", "narrow first"} {
			request := func(user string) []backend.Ask {
				asks := []backend.Ask{ask(order, broad, 1), ask(order+user, narrow, 1)}
				if order == "narrow first" {
					slices.Reverse(asks)
				}
				return asks
			}
			s.equal(order+": first user", 5, s.admitted(8, request("u1")...))
			s.equal(order+": second user", 5, s.admitted(5, request("u2")...))
			s.equal(order+": plan", 0, s.admitted(1, ask(order, broad, 1)))
		}
	})
}

func testRefusals(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: 10, window: time.Hour})
		s.equal("admitted of 50", 10, s.admitted(50, ask("k", r, 1)))
		_, answers := s.decide(backend.AllOrNothing, ask("k", r, 1))
		s.clock.Advance(answers[0].RetryAfter - time.Microsecond)
		s.equal("admitted before the wait is over", 0, s.admitted(1, ask("k", r, 1)))
		s.clock.Advance(time.Microsecond)
		s.equal("admitted after the wait", 1, s.admitted(1, ask("k", r, 1)))
	})
}

func testLooks(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: 2, window: time.Minute})
		s.equal("looks admitted", 10, s.admitted(10, ask("k", r, 0)))
		s.equal("remaining", int64(2), s.remaining("k", r))
		s.equal("hits admitted", 2, s.admitted(2, ask("k", r, 1)))
		s.equal("looks admitted with nothing left", 0, s.admitted(10, ask("k", r, 0)))
		s.equal("remaining with nothing left", int64(0), s.remaining("k", r))
	})
}

func testNever(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: 5, window: time.Minute})
		for _, hits := range []int64{6, 10, math.MaxInt64} {
			verdict, answers := s.decide(backend.AllOrNothing, ask("k", r, hits))
			s.equal("verdict", backend.OverLimit, verdict)
			s.equal("wait", algorithms.Never, answers[0].RetryAfter)
			s.equal("remaining", int64(5), answers[0].Remaining)
		}
		s.equal("admitted of 5", 1, s.admitted(1, ask("k", r, 5)))
		s.equal("remaining", int64(0), s.remaining("k", r))
	})
}

func testRefunds(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r, none := rule(numbers{limit: 5, window: time.Minute}), deny(t)
		s.equal("charge", 1, s.admitted(1, ask("k", r, 3)))
		s.equal("refund", 1, s.admitted(1, ask("k", r, -2)))
		s.equal("remaining after a refund", int64(4), s.remaining("k", r))
		s.equal("charge", 1, s.admitted(1, ask("k", r, 3)))
		s.equal("refused request", 0, s.admitted(1, ask("k", r, -1), ask("none", none, 1)))
		s.equal("remaining after a refund in a refused request", int64(2), s.remaining("k", r))
		s.equal("huge refund", 1, s.admitted(1, ask("k", r, math.MinInt64)))
		s.equal("remaining after a huge refund", int64(5), s.remaining("k", r))
	})
}

func testOverdraft(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		kind := rule(numbers{limit: 5, window: time.Minute}).Limit.Kind()
		if kind == algorithms.SlidingLog || kind == algorithms.LeakyQueue {
			return // neither can be in debt
		}
		r, none := rule(numbers{limit: 5, overdraft: 5, window: time.Minute}), deny(t)
		s.equal("charge that does not fit", 0, s.admitted(1, ask("k", r, 8)))
		s.equal("look in debt", 0, s.admitted(1, ask("k", r, 0)))
		s.equal("refund of the debt", 1, s.admitted(1, ask("k", r, -4)))
		s.equal("remaining", int64(1), s.remaining("k", r))
		s.equal("refused request", 0, s.admitted(1, ask("k", r, 1), ask("none", none, 1)))
		s.equal("remaining after a charge in a refused request", int64(0), s.remaining("k", r))
		s.equal("charge beyond the overdraft", 0, s.admitted(1, ask("k", r, math.MaxInt64)))
		s.equal("refund of all but one", 1, s.admitted(1, ask("k", r, -9)))
		s.equal("remaining of a full debt after the refund", int64(4), s.remaining("k", r))
	})
}

func deny(t *testing.T) *backend.Rule {
	limit, err := algorithms.New(algorithms.Params{Kind: algorithms.Deny})
	if err != nil {
		t.Fatal(err)
	}
	return &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
}

func testDeny(t *testing.T, open Open) {
	s := newSubject(t, open)
	for _, hits := range []int64{1, 0} {
		verdict, answers := s.decide(backend.AllOrNothing, ask("k", deny(t), hits))
		s.equal("verdict", backend.OverLimit, verdict)
		s.equal("decision", algorithms.Decision{RetryAfter: algorithms.Never}, answers[0].Decision)
	}
}

// testChangedLimit passes a state on between limits: usage stays what it was.
func testChangedLimit(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		ten := rule(numbers{limit: 10, window: time.Minute})
		twenty := rule(numbers{limit: 20, window: time.Minute})
		five := rule(numbers{limit: 5, window: time.Minute})
		s.equal("admitted of 50", 10, s.admitted(50, ask("k", ten, 1)))
		s.equal("remaining of 5", int64(0), s.remaining("k", five))
		if ten.Limit.Kind().Family() == algorithms.TATFamily {
			s.equal("remaining of 20", int64(0), s.remaining("k", twenty)) // a full bucket of debt is one at any rate
			s.clock.Advance(time.Minute / 20)
			s.equal("admitted at the new rate", 1, s.admitted(2, ask("k", twenty, 1)))
		} else {
			s.equal("admitted of 20", 10, s.admitted(50, ask("k", twenty, 1)))
		}
		s.clock.Advance(2 * time.Minute)
		s.equal("remaining of 5 after its window", int64(5), s.remaining("k", five))
	})
}

func testCountRefused(t *testing.T, open Open) {
	s := newSubject(t, open)
	r := newRule(t, fixedWindow(), numbers{limit: 5, window: time.Hour})
	r.CountRefused = true
	tests := []struct {
		hits    int64
		verdict backend.Verdict
		used    int64
	}{
		{3, backend.OK, 3},
		{2, backend.OK, 5},
		{0, backend.OK, 5},
		{1, backend.OverLimit, 6},
		{0, backend.OverLimit, 6},
		{-1, backend.OK, 5},
	}
	for _, test := range tests {
		verdict, answers := s.decide(backend.CountRefused, ask("k", r, test.hits))
		s.equal("verdict", test.verdict, verdict)
		s.equal("used", test.used, answers[0].Used)
	}
	other := newRule(t, algorithms.Params{Kind: algorithms.GCRA}, numbers{limit: 5, window: time.Hour})
	ours := newRule(t, fixedWindow(), numbers{limit: 5, window: time.Hour})
	for _, want := range []int64{2, 2} {
		_, answers := s.decide(backend.CountRefused, ask("other", other, 3), ask("ours", ours, 3))
		s.equal("remaining of another kind", want, answers[0].Remaining)
		s.equal("remaining of a window that does not say so", want, answers[1].Remaining)
	}
}
