package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// soon is a budget that tests of failures exhaust.
const soon = 50 * time.Millisecond

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute", what)
		case <-tick.C:
		}
	}
}

func yearly(t *testing.T, policy backend.OnError) *backend.Rule {
	t.Helper()
	r := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 1000, Window: 365 * 24 * time.Hour})
	r.OnError = policy
	return r
}

// openAt makes a backend on addresses that need not be those of servers.
func openAt(t *testing.T, o redis.Options, addrs ...string) *store {
	t.Helper()
	o.Addrs = addrs
	if o.Budget == 0 {
		o.Budget = soon
	}
	r, err := redis.New(o)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	return &store{Redis: r}
}

func (s *store) decides(t *testing.T, rule *backend.Rule) bool {
	t.Helper()
	_, answers := s.decide(t, backend.AllOrNothing, ask("k", rule, 1))
	return answers[0].Err == nil
}

// checkPolicies wants requests answered by each rule's policy.
func (s *store) checkPolicies(t *testing.T) {
	t.Helper()
	want := map[backend.OnError]backend.Verdict{
		backend.OnErrorFail: backend.Failed, backend.OnErrorAllow: backend.OK, backend.OnErrorDeny: backend.OverLimit,
	}
	for policy, want := range want {
		verdict, answers := s.decide(t, backend.AllOrNothing, ask("k", yearly(t, policy), 1))
		if verdict != want || answers[0].Err == nil || answers[0].Source != backend.FromFallback {
			t.Errorf("policy %d: verdict is %d, want %d: %+v", policy, verdict, want, answers)
		}
	}
}

func (s *store) open() bool { return s.Stats().Nodes[0].Open }

// TestRD01StartsBeforeRedis asks an address that nobody listens on, and then one
// does.
func TestRD01StartsBeforeRedis(t *testing.T) {
	t.Parallel()
	p := newProxy(t, "127.0.0.1:1")
	s := openAt(t, redis.Options{}, p.Addr())
	if s.Ready(t.Context()) == nil {
		t.Error("a server that is not there is ready")
	}
	s.checkPolicies(t)
	p.Lead(ownServer(t).Addr())
	eventually(t, "ready", func() bool { return s.Ready(t.Context()) == nil })
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
}

// TestRD12Dead has a server end: nobody waits for it once the breaker is open, and
// another one in its place is found.
func TestRD12Dead(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	p := newProxy(t, server.Addr())
	s := openAt(t, redis.Options{}, p.Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	s.checkPolicies(t)
	eventually(t, "an open breaker", func() bool { s.checkPolicies(t); return s.open() })
	if _, answers := s.decide(t, backend.AllOrNothing, ask("k", yearly(t, backend.OnErrorFail), 1)); redis.KindOf(answers[0].Err) != redis.Unavailable {
		t.Errorf("error behind an open breaker is %v", answers[0].Err)
	}
	p.Lead(ownServer(t).Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	if s.open() {
		t.Error("the breaker is open although the server answers")
	}
}

// TestRD12OneShardDead ends one of three masters: only its keys follow the policy, and
// the others refuse as before.
func TestRD12OneShardDead(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	s := openAt(t, redis.Options{Mode: redis.Cluster, Budget: patience}, c.Masters[0].Addr(), c.Masters[1].Addr(), c.Masters[2].Addr())
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	one := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 1, Window: 365 * 24 * time.Hour})
	one.OnError = backend.OnErrorAllow
	dead, alive := keyOn("rls", 0), keyOn("rls", 1)
	eventually(t, "decisions", func() bool {
		verdict, answers := s.decide(t, backend.AllOrNothing, ask(dead, one, 1), ask(alive, one, 1))
		return verdict == backend.OverLimit && answers[0].Err == nil && answers[1].Err == nil
	})
	if err := c.Masters[0].Stop(); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		verdict, answers := s.decide(t, backend.AllOrNothing, ask(dead, one, 1), ask(alive, one, 1))
		got := []bool{answers[0].Err != nil, answers[0].Allowed, answers[1].Err != nil, answers[1].Allowed}
		if diff := cmp.Diff([]bool{true, true, false, false}, got); verdict != backend.OverLimit || diff != "" {
			t.Errorf("request %d: verdict is %d (-want +got):\n%s%+v", i, verdict, diff, answers)
		}
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready although a third of the slots is not served")
	}
}
