package redis_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestRD03Hostile wants values with braces to keep to their own states and to
// be on all nodes.
func TestRD03Hostile(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 2, Window: 365 * 24 * time.Hour})
	for _, shape := range []string{"{x}%d", "%d{x}", "}{%d", "{}%d", "{%d}", "{x}{%d}", "}%d{", "{{x}}%d"} {
		for i := range 30 {
			if got := s.admitted(t, 3, ask(fmt.Sprintf(shape, i), r, 1)); got != 2 {
				t.Errorf("%d hits of key "+shape+" are admitted, want 2", got, i)
			}
		}
		if used := s.spread(t); used != 3 {
			t.Errorf("keys like %q are on %d masters", shape, used)
		}
	}
}

// TestRD03ManySlots decides requests of five descriptors in five slots.
func TestRD03ManySlots(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(10, 365*24*time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openCluster(t, shared.cluster, redis.Options{})
			r := newRule(t, p)
			p.Limit, p.MinLimit, p.MaxLimit = 4, min(p.MinLimit, 4), min(p.MaxLimit, 4)
			small := newRule(t, p)
			var asks []backend.Ask
			for i := range 5 {
				asks = append(asks, ask(strconv.Itoa(i), r, 1))
			}
			asks[3].Rule = small
			if got := s.admitted(t, 20, asks...); got != 4 {
				t.Errorf("%d admitted, want the smallest limit, 4", got)
			}
			for i, a := range asks {
				_, answers := s.decide(t, backend.Look, ask(string(a.Key), a.Rule, 1))
				if used := answers[0].Used; used != min(5, a.Rule.Limit.Capacity()) && used != 4 {
					t.Errorf("key %d has %d hits, want 4", i, used)
				}
			}
			if used := s.spread(t); used != 3 {
				t.Errorf("the keys are on %d masters", used)
			}
		})
	}
}

// TestRD04Refunds gives back on 20 keys of all nodes in one request.
func TestRD04Refunds(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: 365 * 24 * time.Hour})
	var charge, refund, look []backend.Ask
	for i := range 20 {
		key := strconv.Itoa(i)
		charge, refund, look = append(charge, ask(key, r, 5)), append(refund, ask(key, r, -3)), append(look, ask(key, r, 0))
	}
	s.admitted(t, 1, charge...)
	for _, want := range []int64{8, 10, 10} {
		if verdict, answers := s.decide(t, backend.AllOrNothing, refund...); verdict != backend.OK {
			t.Errorf("verdict is %d: %+v", verdict, answers)
		}
		_, answers := s.decide(t, backend.AllOrNothing, look...)
		for i, a := range answers {
			if a.Remaining != want {
				t.Errorf("key %d has %d left, want %d", i, a.Remaining, want)
			}
		}
	}
}
