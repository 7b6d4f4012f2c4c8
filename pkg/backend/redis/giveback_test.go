package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
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

// TestGiveBackOfEqualKeys has one key asked about by two rules in a request that
// another key refuses: each answer is that of a request which charged nothing.
func TestGiveBackOfEqualKeys(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(10, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := backendtest.NewClock()
			s := openCluster(t, shared.cluster, redis.Options{Now: clock.Now})
			model := backendtest.NewModel(clock.Now)
			ten := newRule(t, p)
			p.Limit, p.MinLimit, p.MaxLimit = 20, min(p.MinLimit, 20), p.MaxLimit*2
			twenty := newRule(t, p)
			for _, asks := range [][]backend.Ask{
				{ask("k", ten, 1)},
				{ask("k", ten, 3), ask("k", twenty, 2), ask("other", ten, 11)},
				{ask("k", twenty, 3), ask("other", ten, 11), ask("k", ten, 2), ask("k", twenty, 1)},
				{ask("k", ten, 0), ask("k", twenty, 0)},
			} {
				req := &backend.Request{Charge: backend.AllOrNothing, Asks: asks}
				want, got := make([]backend.Answer, len(asks)), make([]backend.Answer, len(asks))
				wantVerdict, gotVerdict := model.Decide(t.Context(), req, want), s.Decide(t.Context(), req, got)
				if diff := cmp.Diff(want, got); diff != "" || wantVerdict != gotVerdict {
					t.Errorf("verdict is %d, want %d (-want +got):\n%s", gotVerdict, wantVerdict, diff)
				}
			}
		})
	}
}

// TestSparedAnswersAreWhole: durations are whole microseconds, as the clock that is
// waited for has, where an interval is none.
func TestSparedAnswersAreWhole(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	seven := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 7, Window: time.Hour})
	s.admitted(t, 1, ask("k", seven, 3))
	verdict, answers := s.decide(t, backend.AllOrNothing, ask("k", seven, 1), ask("other", seven, 8))
	if got := answers[0].ResetAfter; verdict != backend.OverLimit || got == 0 || got%time.Microsecond != 0 {
		t.Errorf("verdict is %d, reset after %d ns", verdict, got)
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
