package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
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
	s := openAt(t, redis.Options{}, p.addr())
	if s.Ready(t.Context()) == nil {
		t.Error("a server that is not there is ready")
	}
	s.checkPolicies(t)
	p.target.Store(ownServer(t).Addr())
	eventually(t, "ready", func() bool { return s.Ready(t.Context()) == nil })
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
}

// TestDead has a server end: nobody waits for it once the breaker is open, and
// another one in its place is found.
func TestDead(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	p := newProxy(t, server.Addr())
	s := openAt(t, redis.Options{}, p.addr())
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	s.checkPolicies(t)
	eventually(t, "an open breaker", func() bool { s.checkPolicies(t); return s.open() })
	if _, answers := s.decide(t, backend.AllOrNothing, ask("k", yearly(t, backend.OnErrorFail), 1)); redis.KindOf(answers[0].Err) != redis.Unavailable {
		t.Errorf("error behind an open breaker is %v", answers[0].Err)
	}
	p.target.Store(ownServer(t).Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	if s.open() {
		t.Error("the breaker is open although the server answers")
	}
}

// TestLT06Stopped has many callers ask a server that is stopped and goes on: nothing
// piles up meanwhile, and connections stay few.
func TestLT06Stopped(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := openAt(t, redis.Options{}, server.Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	inParallel(16, func(int) { s.checkPolicies(t) })
	eventually(t, "an open breaker", func() bool { s.checkPolicies(t); return s.open() })
	inParallel(64, func(int) {
		for range 200 {
			s.checkPolicies(t)
		}
	})
	node := s.Stats().Nodes[0]
	if node.Waiting > 64 || node.Connections > redis.DefaultPoolSize {
		t.Errorf("%d calls wait on %d connections", node.Waiting, node.Connections)
	}
	if err := syscall.Kill(server.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
	eventually(t, "an empty queue", func() bool { return s.Stats().Nodes[0].Waiting == 0 })
}

// TestCut ends connections after a command has run and before its reply: the
// request follows the policy and the hits are counted once.
func TestCut(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	p := newProxy(t, server.Addr())
	s, direct := openAt(t, redis.Options{Budget: patience}, p.addr()), openAt(t, redis.Options{Budget: patience}, server.Addr())
	rule := yearly(t, backend.OnErrorFail)
	if !s.decides(t, rule) {
		t.Fatal("no decision")
	}
	for range 2 {
		p.cut.Store(true)
		if s.decides(t, rule) {
			t.Error("a decision without a reply")
		}
	}
	_, answers := direct.decide(t, backend.Look, ask("k", rule, 0))
	if answers[0].Used != 3 {
		t.Errorf("%d hits of 3 are counted", answers[0].Used)
	}
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
}

// TestLT01Delayed has replies take 30 ms while callers wait 20: all are answered by
// policy. Then they are faster.
func TestLT01Delayed(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: 15 * time.Millisecond, KeyPrefix: "delayed"}, p.addr())
	p.delay.Store(int64(30 * time.Millisecond))
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		answers := make([]backend.Answer, 1)
		asks := []backend.Ask{ask("k", yearly(t, backend.OnErrorAllow), 1)}
		verdict := s.Decide(ctx, &backend.Request{Charge: backend.AllOrNothing, Asks: asks}, answers)
		cancel()
		if verdict != backend.OK || answers[0].Err == nil || answers[0].Source != backend.FromFallback {
			t.Errorf("verdict is %d: %+v", verdict, answers)
		}
	}
	errors := s.Stats().Errors
	if errors[redis.Timeout] == 0 || errors[redis.Timeout]+errors[redis.Unavailable] != 20 {
		t.Errorf("errors by kind are %v", errors)
	}
	p.delay.Store(0)
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
}

// TestLT05IdleConnections cuts connections between requests.
func TestLT05IdleConnections(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: patience, KeyPrefix: "idle"}, p.addr())
	for i := range 10 {
		if _, answers := s.decide(t, backend.AllOrNothing, ask("k", yearly(t, backend.OnErrorFail), 1)); answers[0].Err != nil {
			t.Errorf("request %d: %v", i, answers[0].Err)
		}
		p.drop()
	}
}

// TestRD02RoleSwap makes a server a replica of another, behind a name that then
// leads to the other one; connections to the first stay open.
func TestRD02RoleSwap(t *testing.T) {
	t.Parallel()
	first, second := ownServer(t), ownServer(t)
	p := newProxy(t, first.Addr())
	s := openAt(t, redis.Options{}, p.addr())
	rule := yearly(t, backend.OnErrorFail)
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	if _, err := first.Do(t.Context(), "REPLICAOF", "127.0.0.1", strconv.Itoa(second.Port)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error of the replica", func() bool { return !s.decides(t, rule) })
	p.target.Store(second.Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	for i := range 50 {
		if !s.decides(t, rule) {
			t.Errorf("request %d after the change failed", i)
		}
	}
	if s.Stats().Errors[redis.ReadOnly] == 0 {
		t.Errorf("errors by kind are %v", s.Stats().Errors)
	}
}

// TestRD08Full wants a full server's errors named.
func TestRD08Full(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	s.checkPolicies(t)
	if errors := s.Stats().Errors; errors[redis.OutOfMemory] != 3 {
		t.Errorf("errors by kind are %v", errors)
	}
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if !s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("no decision although there is room")
	}
}

// TestRD08Eviction wants a warning, once, of a server that may evict keys.
func TestRD08Eviction(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	var warnings []string
	s := open(t, server, redis.Options{Warn: func(text string) { warnings = append(warnings, text) }})
	if err := s.client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "allkeys-lru") {
		t.Errorf("warnings are %q", warnings)
	}
}

// TestRD10NoLeak opens and closes many backends.
func TestRD10NoLeak(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	for range 50 {
		r, err := redis.New(redis.Options{Addrs: []string{server.Addr()}, Budget: patience})
		if err != nil {
			t.Fatal(err)
		}
		if !(&store{Redis: r}).decides(t, yearly(t, backend.OnErrorFail)) {
			t.Error("no decision")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "one connection", func() bool {
		return strings.Count(s.client.ClientList(t.Context()).Val(), "\n") == 1
	})
}

// TestOneShardDead ends one of three masters: only its keys follow the policy, and
// the others refuse as before.
func TestOneShardDead(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	s := openAt(t, redis.Options{Mode: redis.Cluster}, c.Masters[0].Addr(), c.Masters[1].Addr(), c.Masters[2].Addr())
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	one := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 1, Window: 365 * 24 * time.Hour})
	one.OnError = backend.OnErrorAllow
	var dead, alive string
	for i := 0; dead == "" || alive == ""; i++ {
		key := fmt.Sprintf("key %d", i)
		if redis.SlotOf("rls1{}"+key) < 5000 {
			dead = key
		} else if redis.SlotOf("rls1{}"+key) > 6000 {
			alive = key
		}
	}
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
