package redis_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestLocalRefusalGivesBack has this process' own store refuse an ask that Redis
// could not decide, after Redis has charged the other one.
func TestLocalRefusalGivesBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []redis.Mode{redis.Single, redis.Cluster} {
		for name, p := range kinds(5, time.Hour) {
			t.Run(fmt.Sprintf("%s, mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				stand := local.New(local.Options{})
				closeAfter(t, stand)
				var s *store
				if mode == redis.Single {
					s = open(t, shared.shared, redis.Options{Local: stand})
				} else {
					s = openCluster(t, shared.cluster, redis.Options{Local: stand}).store
				}
				r := newRule(t, p)
				failing := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour + time.Nanosecond})
				failing.OnError = backend.OnErrorLocal // nanoseconds are not for Redis
				want := []backend.Verdict{backend.OK, backend.OverLimit, backend.OverLimit}
				for i, want := range want {
					verdict, answers := s.decide(t, backend.AllOrNothing, ask("bad", failing, 1), ask("good", r, 2))
					if verdict != want || answers[1].Remaining != 3 || answers[1].Err != nil || !answers[1].Allowed {
						t.Errorf("request %d: verdict is %d, want %d: %+v", i, verdict, want, answers)
					}
				}
				if _, answers := s.decide(t, backend.Look, ask("good", r, 0)); answers[0].Remaining != 3 {
					t.Errorf("%d left of 5, want 3: a refused request is charged", answers[0].Remaining)
				}
			})
		}
	}
}

// TestOwnRefusalChargesNothing wants no second trip where the only part with
// anything to charge is refused by itself.
func TestOwnRefusalChargesNothing(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	one := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1, Window: time.Hour})
	request := []backend.Ask{ask("a", one, 1), ask("b", one, 1), ask("c", one, 1)}
	asked := func() (asks uint64) {
		for _, n := range s.Stats().Nodes {
			asks += n.Asks
		}
		return asks
	}
	if verdict, answers := s.decide(t, backend.AllOrNothing, request...); verdict != backend.OK {
		t.Fatalf("verdict is %d: %+v", verdict, answers)
	}
	before := asked()
	if verdict, _ := s.decide(t, backend.AllOrNothing, request...); verdict != backend.OverLimit {
		t.Errorf("verdict is %d", verdict)
	}
	if got := asked() - before; got != 3 {
		t.Errorf("%d asks for a request of three that are each refused", got)
	}
	before = asked()
	if verdict, _ := s.decide(t, backend.AllOrNothing, ask("d", one, 1), request[0]); verdict != backend.OverLimit {
		t.Errorf("verdict is %d", verdict)
	}
	if got := asked() - before; got != 3 {
		t.Errorf("%d asks for a request of two, of which one is to be given back", got)
	}
	deny := newRule(t, algorithms.Params{Kind: algorithms.Deny})
	before = asked()
	s.decide(t, backend.AllOrNothing, ask("e", one, 1), ask("f", one, 1), ask("none", deny, 1))
	if got := asked() - before; got != 2 {
		t.Errorf("%d asks for a request of two that is refused from the start", got)
	}
}

// TestKeylessRefusalChargesNothing has an ask without a key refuse a request, by its
// rule or by its policy: Redis knows that when it decides, and charges nothing that
// would have to be given back.
func TestKeylessRefusalChargesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	deny := newRule(t, algorithms.Params{Kind: algorithms.Deny})
	failing := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour + time.Nanosecond})
	failing.OnError = backend.OnErrorDeny // nanoseconds are not for Redis
	for name, rule := range map[string]*backend.Rule{"a rule that denies": deny, "a policy that denies": failing} {
		for _, mode := range []backend.Mode{0, backend.Quota} {
			refusing, good := ask("none", rule, 1), ask("k", r, 1)
			refusing.Mode = mode
			before := s.Stats().Nodes[0].Asks
			if verdict, answers := s.decide(t, backend.AllOrNothing, refusing, good); verdict != backend.OverLimit || answers[1].Remaining != 5 {
				t.Errorf("%s, mode %d: verdict is %d: %+v", name, mode, verdict, answers)
			}
			if got := s.Stats().Nodes[0].Asks - before; got != 1 {
				t.Errorf("%s, mode %d: %d asks, want no second one that gives back", name, mode, got)
			}
		}
	}
}

// TestClusterHostile wants values with braces to keep to their own states and to
// be on all nodes.
func TestClusterHostile(t *testing.T) {
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
