package redis_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestLT01Delayed has replies take 30 ms while callers wait 20: all are answered by
// policy, and one who waits longer by Redis. Then replies are faster.
func TestLT01Delayed(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: 15 * time.Millisecond, KeyPrefix: "delayed"}, p.Addr())
	p.Meddle(delayed(30 * time.Millisecond))
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
	patient := openAt(t, redis.Options{Budget: patience, KeyPrefix: "delayed"}, p.Addr())
	if !patient.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("no decision for a caller with patience")
	}
	p.Meddle(nil)
	eventually(t, "a decision", func() bool { return s.decides(t, yearly(t, backend.OnErrorFail)) })
}

// TestLT01Reserve answers a caller that Redis lets wait before its deadline, by the
// reserve, although the budget would last.
func TestLT01Reserve(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: 2 * patience, Reserve: patience}, p.Addr())
	p.Meddle(swallow)
	ctx, cancel := context.WithTimeout(t.Context(), patience+soon)
	defer cancel()
	answers := make([]backend.Answer, 1)
	s.Decide(ctx, &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", yearly(t, backend.OnErrorFail), 1)}}, answers)
	if !errors.Is(answers[0].Err, redis.ErrTimeout) || ctx.Err() != nil {
		t.Errorf("error is %v, that of the context %v", answers[0].Err, ctx.Err())
	}
	p.Drop() // else closing waits for the reply
}

// TestLT01SlowRedis pauses the server: requests are answered by their patience or
// context, and what comes late is dropped.
func TestLT01SlowRedis(t *testing.T) {
	t.Parallel()
	s := open(t, ownServer(t), redis.Options{Budget: 20 * time.Millisecond})
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: 365 * 24 * time.Hour})
	client := s.client
	if err := client.Do(t.Context(), "CLIENT", "PAUSE", 600_000, "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	inParallel(16, func(int) {
		if verdict, answers := s.decide(t, backend.AllOrNothing, ask("k", r, 1)); verdict != backend.Failed || answers[0].Err == nil {
			t.Errorf("verdict is %d: %+v", verdict, answers)
		}
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	answers := make([]backend.Answer, 1)
	s.Decide(gone, &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", r, 1)}}, answers)
	if !errors.Is(answers[0].Err, context.Canceled) && !errors.Is(answers[0].Err, redis.ErrTimeout) {
		t.Errorf("error of a caller who has gone is %v", answers[0].Err)
	}
	past, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	s.Decide(past, &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", r, 1)}}, answers)
	if !errors.Is(answers[0].Err, redis.ErrTimeout) {
		t.Errorf("error past the deadline is %v", answers[0].Err)
	}
	if err := client.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	for verdict := backend.Failed; verdict != backend.OK; { // it heals by itself
		verdict, _ = s.decide(t, backend.AllOrNothing, ask("other", r, 0))
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
	s, direct := openAt(t, redis.Options{Budget: patience}, p.Addr()), openAt(t, redis.Options{Budget: patience}, server.Addr())
	rule := yearly(t, backend.OnErrorFail)
	if !s.decides(t, rule) {
		t.Fatal("no decision")
	}
	for range 2 {
		p.Meddle(cutOnce())
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
