// Package backendtest is the one suite that every backend must pass, and the
// naive model that it is compared with.
package backendtest

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// Config is what a test wants of the backend that it opens.
type Config struct {
	// Now is the clock that decides, in ns since the epoch. It may step back,
	// so the backend must not delete by it what it is not asked about.
	Now func() int64
}

// Open makes an empty backend and closes it when the test ends.
type Open func(t *testing.T, c Config) backend.Backend

// Run runs the suite. Instants are whole microseconds and windows whole
// milliseconds; durations are compared in microseconds, rounded up, so that
// backends of either resolution pass. Except names tests that a backend cannot
// pass, for a reason given beside the call.
func Run(t *testing.T, open Open, except ...string) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"a refused request spends no sibling's budget", testSiblings},
		{"refusals spend nothing", testRefusals},
		{"looks", testLooks},
		{"more hits than the capacity", testNever},
		{"refunds", testRefunds},
		{"post-paid charges", testOverdraft},
		{"modes decide who is charged", testModes},
		{"equal keys", testEqualKeys},
		{"equal keys with different rules", testEqualKeysDifferentRules},
		{"equal rules", testEqualRules},
		{"a full refund leaves nothing", testFullRefund},
		{"a changed limit keeps the debt", testChangedLimit},
		{"a look as a charge", testLookCharge},
		{"counting refused hits", testCountRefused},
		{"a rule that denies", testDeny},
		{"many asks and empty keys", testManyAsks},
		{"one key from many goroutines", testContention},
		{"keys in opposite orders", testOppositeOrders},
		{"random requests", testRandom},
	}
	for _, test := range tests {
		if slices.Contains(except, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open)
		})
	}
}

// Clock is an injected clock.
type Clock struct{ ns atomic.Int64 }

// NewClock is a clock that stands 800 s after a full hour.
func NewClock() *Clock {
	c := new(Clock)
	c.ns.Store(int64(1_790_000_000 * time.Second))
	return c
}

// Now is the instant at which the clock stands.
func (c *Clock) Now() int64 { return c.ns.Load() }

// Advance moves the clock, back if d is negative.
func (c *Clock) Advance(d time.Duration) { c.ns.Add(int64(d)) }

// subject is a backend under test with its clock.
type subject struct {
	t     *testing.T
	store backend.Backend
	clock *Clock
}

func newSubject(t *testing.T, open Open) *subject {
	clock := NewClock()
	return &subject{t, open(t, Config{Now: clock.Now}), clock}
}

func (s *subject) decide(charge backend.Charge, asks ...backend.Ask) (backend.Verdict, []backend.Answer) {
	answers := make([]backend.Answer, len(asks))
	return s.store.Decide(s.t.Context(), &backend.Request{Charge: charge, Asks: asks}, answers), answers
}

// admitted is how many of n equal requests are OK.
func (s *subject) admitted(n int, asks ...backend.Ask) int {
	ok := 0
	for range n {
		if verdict, _ := s.decide(backend.AllOrNothing, asks...); verdict == backend.OK {
			ok++
		}
	}
	return ok
}

// remaining is what a look says that the key has left.
func (s *subject) remaining(key string, rule *backend.Rule) int64 {
	_, answers := s.decide(backend.AllOrNothing, ask(key, rule, 0))
	return answers[0].Remaining
}

func ask(key string, rule *backend.Rule, hits int64) backend.Ask {
	return backend.Ask{Key: []byte(key), Rule: rule, Hits: hits}
}

func (s *subject) equal(what string, want, got any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// shape is an algorithm in a variant that has a form of state of its own.
type shape struct {
	name   string
	params algorithms.Params
}

func shapes() []shape {
	return []shape{
		{"fixed", algorithms.Params{Kind: algorithms.FixedWindow}},
		{"fixed first hit", algorithms.Params{Kind: algorithms.FixedWindow, FirstHit: true}},
		{"counter", algorithms.Params{Kind: algorithms.SlidingCounter}},
		{"counter of 4 buckets", algorithms.Params{Kind: algorithms.SlidingCounter, Buckets: 4}},
		{"log", algorithms.Params{Kind: algorithms.SlidingLog}},
		{"token bucket", algorithms.Params{Kind: algorithms.TokenBucket}},
		{"leaky meter", algorithms.Params{Kind: algorithms.LeakyMeter}},
		{"leaky queue", algorithms.Params{Kind: algorithms.LeakyQueue}},
		{"gcra", algorithms.Params{Kind: algorithms.GCRA}},
		{"adaptive", algorithms.Params{Kind: algorithms.Adaptive}},
	}
}

func fixedWindow() algorithms.Params { return algorithms.Params{Kind: algorithms.FixedWindow} }

// numbers are the parts of a rule that leave a key's state its meaning.
type numbers struct {
	limit, overdraft int64
	window           time.Duration
}

func newRule(t *testing.T, p algorithms.Params, n numbers) *backend.Rule {
	p.Limit, p.Window, p.Overdraft = n.limit, n.window, n.overdraft
	if p.Kind == algorithms.Adaptive {
		p.MinLimit, p.MaxLimit = n.limit, n.limit
	}
	limit, err := algorithms.New(p)
	if err != nil {
		t.Fatalf("making a rule of %+v: %v", p, err)
	}
	return &backend.Rule{Limit: limit, Group: uint64(p.Kind), OnError: backend.OnErrorFail}
}

// eachShape runs a test for every shape.
func eachShape(t *testing.T, open Open, run func(s *subject, rule func(numbers) *backend.Rule)) {
	for _, shape := range shapes() {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			run(newSubject(t, open), func(n numbers) *backend.Rule { return newRule(t, shape.params, n) })
		})
	}
}
