package backendtest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// testModes sends every request of up to three asks that fit or do not, in every
// mode: it wants the verdict of the rules' text, and that what fits is charged
// unless the request is refused.
func testModes(t *testing.T, open Open) {
	s := newSubject(t, open)
	fit := newRule(t, fixedWindow(), numbers{limit: 5, window: time.Hour})
	full := deny(t)
	var all []backend.Ask
	for mode := range backend.Shadow | backend.Quota + 1 {
		all = append(all, backend.Ask{Rule: fit, Hits: 2, Mode: mode}, backend.Ask{Rule: full, Hits: 2, Mode: mode})
	}
	requests := [][]backend.Ask{{}}
	for range 3 {
		for _, request := range requests {
			for _, a := range all {
				requests = append(requests, append(slices.Clip(request), a))
			}
		}
	}
	for i, asks := range requests {
		for _, pass := range []bool{false, true} {
			req := &backend.Request{Charge: backend.AllOrNothing, QuotaPass: pass}
			for k, a := range asks {
				a.Key = fmt.Appendf(nil, "%d %t %d", i, pass, k)
				req.Asks = append(req.Asks, a)
			}
			s.checkModes(req, fit)
		}
	}
}

func (s *subject) checkModes(req *backend.Request, fit *backend.Rule) {
	answers := make([]backend.Answer, len(req.Asks))
	verdict := s.store.Decide(s.t.Context(), req, answers)
	s.equal("verdict", naiveVerdict(req, answers), verdict)
	left := int64(3)
	if verdict == backend.OverLimit {
		left = 5
	}
	for i, a := range req.Asks {
		if s.equal("allowed", a.Rule == fit, answers[i].Allowed); a.Rule == fit {
			s.equal("remaining", left, answers[i].Remaining)
			s.equal("used", 5-left, answers[i].Used)
			s.equal("remaining by a look", left, s.remaining(string(a.Key), fit))
		}
	}
}

func testEqualKeys(t *testing.T, open Open) {
	tests := []struct {
		name      string
		charge    backend.Charge
		hits      []int64
		verdict   backend.Verdict
		remaining []int64 // by ask, then by a look
	}{
		{"sum fits", backend.AllOrNothing, []int64{2, 3}, backend.OK, []int64{0, 0, 0}},
		{"sum does not fit", backend.AllOrNothing, []int64{3, 3}, backend.OverLimit, []int64{5, 5, 5}},
		{"sum of signs", backend.AllOrNothing, []int64{6, -3}, backend.OK, []int64{2, 2, 2}},
		{"sum is a look", backend.AllOrNothing, []int64{6, -6}, backend.OK, []int64{5, 5, 5}},
		{"sum is too large for 64 bits", backend.AllOrNothing, []int64{1<<63 - 1, 1}, backend.OverLimit, []int64{5, 5, 5}},
		{"sum is too small for 64 bits", backend.AllOrNothing, []int64{-1 << 63, -1}, backend.OK, []int64{5, 5, 5}},
		{"in order", backend.Independent, []int64{3, 3}, backend.OverLimit, []int64{2, 2, 2}},
		{"in order, with a refund", backend.Independent, []int64{3, -1, 3}, backend.OK, []int64{2, 3, 0, 0}},
	}
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: 5, window: time.Minute})
		for _, test := range tests {
			var asks []backend.Ask
			for _, hits := range test.hits {
				asks = append(asks, ask(test.name, r, hits))
			}
			verdict, answers := s.decide(test.charge, asks...)
			var remaining []int64
			for _, answer := range answers {
				remaining = append(remaining, answer.Remaining)
			}
			s.equal(test.name+": verdict", test.verdict, verdict)
			s.equal(test.name+": remaining", test.remaining, append(remaining, s.remaining(test.name, r)))
		}
	})
}

// testEqualKeysDifferentRules wants each decided on what the one before would leave.
func testEqualKeysDifferentRules(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		ten := rule(numbers{limit: 10, window: time.Minute})
		again := rule(numbers{limit: 10, window: time.Minute})
		again.OnError = backend.OnErrorAllow // or it would be the same rule
		verdict, answers := s.decide(backend.AllOrNothing, ask("k", ten, 4), ask("k", again, 3), ask("k", ten, 1))
		s.equal("verdict", backend.OK, verdict)
		s.equal("remaining of the first", int64(5), answers[0].Remaining)
		s.equal("remaining of the second", int64(2), answers[1].Remaining)
		s.equal("remaining of the third", int64(5), answers[2].Remaining)
		verdict, answers = s.decide(backend.AllOrNothing, ask("k", ten, 2), ask("k", again, 1))
		s.equal("verdict", backend.OverLimit, verdict)
		s.equal("allowed", []bool{true, false}, []bool{answers[0].Allowed, answers[1].Allowed})
		s.equal("remaining as it stands", []int64{2, 2}, []int64{answers[0].Remaining, answers[1].Remaining})
		verdict, _ = s.decide(backend.AllOrNothing, ask("k", ten, 3), ask("k", again, -1))
		s.equal("verdict of a refund beside a refusal", backend.OverLimit, verdict)
		s.equal("remaining after the refund", int64(3), s.remaining("k", ten))
	})
}

// testEqualRules wants rules with the same numbers to be one rule for one key,
// as those that a request brings along twice are.
func testEqualRules(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		one, two := rule(numbers{limit: 10, window: time.Minute}), rule(numbers{limit: 10, window: time.Minute})
		verdict, answers := s.decide(backend.AllOrNothing, ask("k", one, 6), ask("k", two, 6))
		s.equal("verdict", backend.OverLimit, verdict)
		s.equal("allowed", []bool{false, false}, []bool{answers[0].Allowed, answers[1].Allowed})
		s.equal("wait of more than there ever are", []time.Duration{algorithms.Never, algorithms.Never}, []time.Duration{answers[0].RetryAfter, answers[1].RetryAfter})
		verdict, answers = s.decide(backend.AllOrNothing, ask("k", one, 6), ask("k", two, -6))
		s.equal("verdict of a look", backend.OK, verdict)
		s.equal("remaining", []int64{10, 10}, []int64{answers[0].Remaining, answers[1].Remaining})
	})
}

// testFullRefund wants a key whose hits were all given back to be as if never
// seen, for the next ask of the same request, too, and after a step of the clock.
func testFullRefund(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		one, two := rule(numbers{limit: 10, window: 4 * time.Second}), rule(numbers{limit: 10, window: 4 * time.Second})
		two.OnError = backend.OnErrorAllow
		s.equal("admitted", 1, s.admitted(1, ask("k", one, 3)))
		s.clock.Advance(-time.Second)
		_, answers := s.decide(backend.AllOrNothing, ask("k", one, -10), ask("k", two, 1))
		_, fresh := s.decide(backend.AllOrNothing, ask("other", two, 1))
		s.equal("answer after the refund", fresh[0], answers[1])
	})
}

// testLookCharge wants a Look's answers to be those of a charge, and no trace of it.
func testLookCharge(t *testing.T, open Open) {
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: 5, window: time.Minute})
		for _, hits := range []int64{3, 3, -1, 0, 3} {
			asks := []backend.Ask{ask("k", r, hits), ask("other", r, 1)}
			lookVerdict, look := s.decide(backend.Look, asks...)
			againVerdict, again := s.decide(backend.Look, asks...)
			verdict, answers := s.decide(backend.AllOrNothing, asks...)
			s.equal("verdicts", []backend.Verdict{verdict, verdict}, []backend.Verdict{lookVerdict, againVerdict})
			s.equal("answers of a look", answers, look)
			s.equal("answers of the next look", answers, again)
		}
	})
}

func testManyAsks(t *testing.T, open Open) {
	s := newSubject(t, open)
	r := newRule(t, fixedWindow(), numbers{limit: 2000, window: time.Hour})
	var asks []backend.Ask
	for i := range 1000 {
		asks = append(asks, ask(strconv.Itoa(i%250), r, 1), ask("", r, 1))
	}
	for _, charge := range []backend.Charge{backend.AllOrNothing, backend.Independent, backend.CountRefused} {
		verdict, _ := s.decide(charge, asks[:1000]...)
		s.equal("verdict", backend.OK, verdict)
	}
	s.equal("remaining of an empty key", int64(500), s.remaining("", r))
	s.equal("remaining of key 0", int64(1994), s.remaining("0", r))
	verdict, _ := s.decide(backend.AllOrNothing)
	s.equal("verdict without asks", backend.OK, verdict)
	verdict = s.store.Decide(nil, &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{{Rule: r, Hits: 1}}}, //nolint:staticcheck // a nil context must do no harm
		make([]backend.Answer, 1))
	s.equal("verdict of a nil key", backend.OK, verdict)
	s.equal("remaining of a nil key", int64(499), s.remaining("", r))
}
