package redis_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestGiveBackAfterAnotherAlignment charges a window that began with its first hit by
// a rule whose windows are the epoch's, as after a reload, and gives that back.
func TestGiveBackAfterAnotherAlignment(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s := open(t, shared.shared, redis.Options{Now: clock.Now})
	first := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 5, Window: time.Hour, FirstHit: true})
	epoch := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 5, Window: time.Hour})
	for i, rules := range [][2]*backend.Rule{{first, epoch}, {epoch, first}} {
		key := strconv.Itoa(i)
		s.admitted(t, 1, ask(key, rules[0], 1))
		clock.Advance(time.Second)
		allowed, back := s.Part(t, key, rules[1], 2)
		back()
		if _, answers := s.decide(t, backend.Look, ask(key, rules[1], 0)); !allowed || answers[0].Used != 1 {
			t.Errorf("key %d: allowed %t, then %d hits are held, want the 1 of before", i, allowed, answers[0].Used)
		}
	}
}

// TestGiveBackAfterAStepBack charges a state that lies ahead of the clock, and gives
// that back: what is left is what is left of a state like it.
func TestGiveBackAfterAStepBack(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, step := range []time.Duration{time.Second, time.Hour, 3 * time.Hour} {
				clock := backendtest.NewClock()
				s := open(t, shared.shared, redis.Options{Now: clock.Now})
				rule := newRule(t, p)
				s.admitted(t, 1, ask("k", rule, 1), ask("twin", rule, 1))
				clock.Advance(-step)
				_, back := s.Part(t, "k", rule, 2)
				back()
				_, answers := s.decide(t, backend.Look, ask("k", rule, 0), ask("twin", rule, 0))
				if got, want := answers[0].Used, answers[1].Used; got != want {
					t.Errorf("%v back: %d hits are held, want %d", step, got, want)
				}
			}
		})
	}
}

// TestGiveBackOfRefundedHits has a log lose a hit to a refund before it is given back:
// a later one is another's.
func TestGiveBackOfRefundedHits(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s := open(t, shared.shared, redis.Options{Now: clock.Now})
	rule := newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: 5, Window: time.Hour})
	_, back := s.Part(t, "k", rule, 1)
	s.admitted(t, 1, ask("k", rule, -1))
	clock.Advance(time.Second)
	s.admitted(t, 1, ask("k", rule, 1))
	back()
	if _, answers := s.decide(t, backend.Look, ask("k", rule, 0)); answers[0].Used != 1 {
		t.Errorf("%d hits are held, want 1", answers[0].Used)
	}
}

// TestGiveBackOfShortBuckets charges and gives back where a sub-window is no whole
// number of microseconds.
func TestGiveBackOfShortBuckets(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	s := open(t, shared.shared, redis.Options{Now: clock.Now})
	rule := newRule(t, algorithms.Params{Kind: algorithms.SlidingCounter, Limit: 5, Window: 3 * time.Millisecond, Buckets: 64})
	s.admitted(t, 1, ask("k", rule, 1))
	for range 10 {
		clock.Advance(17 * time.Microsecond)
		allowed, back := s.Part(t, "k", rule, 2)
		back()
		if _, answers := s.decide(t, backend.Look, ask("k", rule, 0)); !allowed || answers[0].Used != 1 {
			t.Errorf("allowed %t, then %d hits are held, want 1", allowed, answers[0].Used)
		}
	}
}

// TestStepBackBeforeGiveBack has the clock step back between a charge and its
// give-back: no less is held than without either.
func TestStepBackBeforeGiveBack(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, step := range []time.Duration{time.Second, 20 * time.Minute, time.Hour, 3 * time.Hour} {
				clock := backendtest.NewClock()
				s := open(t, shared.shared, redis.Options{Now: clock.Now})
				rule := newRule(t, p)
				s.admitted(t, 1, ask("k", rule, 1), ask("twin", rule, 1))
				_, back := s.Part(t, "k", rule, 3)
				clock.Advance(-step)
				back()
				_, answers := s.decide(t, backend.Look, ask("k", rule, 0), ask("twin", rule, 0))
				if got, want := answers[0].Used, answers[1].Used; got < want {
					t.Errorf("%v back: %d hits are held, without the charge %d", step, got, want)
				}
			}
		})
	}
}
