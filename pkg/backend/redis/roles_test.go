package redis_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestRD02RoleSwap makes a server a replica, behind a name that then leads to the
// new master; connections to the first stay open, and would fail for ever.
func TestRD02RoleSwap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string // of the first server
		dead bool     // whether its master does not answer
		kind redis.Kind
	}{
		{"a replica", nil, false, redis.ReadOnly},
		{"a replica without its master", []string{"--replica-serve-stale-data", "no"}, true, redis.Loading},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			first, second := ownServer(t, row.args...), ownServer(t)
			p := newProxy(t, first.Addr())
			s := openAt(t, redis.Options{Budget: patience}, p.Addr())
			rule := yearly(t, backend.OnErrorFail)
			eventually(t, "a decision", func() bool { return s.decides(t, rule) })
			master := strconv.Itoa(second.Port)
			if row.dead {
				master = "1"
			}
			if _, err := first.Do(t.Context(), "REPLICAOF", "127.0.0.1", master); err != nil {
				t.Fatal(err)
			}
			eventually(t, "an error of the replica", func() bool { return !s.decides(t, rule) && s.Stats().Errors[row.kind] > 0 })
			p.Lead(second.Addr())
			eventually(t, "a decision", func() bool { return s.decides(t, rule) })
			for i := range 50 {
				if _, answers := s.decide(t, backend.AllOrNothing, ask("k", rule, 1)); answers[0].Err != nil {
					t.Errorf("request %d after the change: %v", i, answers[0].Err)
				}
			}
			if _, err := first.Do(t.Context(), "REPLICAOF", "NO", "ONE"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRD02Loading has a server read its keys again: it says so meanwhile, and
// decides by itself when it is done.
func TestRD02Loading(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024")
	s := open(t, server, redis.Options{})
	rule := yearly(t, backend.OnErrorFail)
	for i := range 100 {
		s.admitted(t, 1, ask(strconv.Itoa(i), rule, 1))
	}
	if err := s.client.ConfigSet(t.Context(), "key-load-delay", "10000").Err(); err != nil { // µs
		t.Fatal(err)
	}
	reloaded := make(chan error, 1)
	go func() {
		_, err := server.Do(t.Context(), "DEBUG", "RELOAD")
		reloaded <- err
	}()
	eventually(t, "an error while the server loads", func() bool { return !s.decides(t, rule) })
	if err := <-reloaded; err != nil {
		t.Fatal(err)
	}
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	if errors := s.Stats().Errors; errors[redis.Loading] == 0 {
		t.Errorf("errors by kind are %v", errors)
	}
	if _, answers := s.decide(t, backend.Look, ask("1", rule, 0)); answers[0].Used != 1 {
		t.Errorf("%d hits are counted, want the one of before", answers[0].Used)
	}
}

// TestRD02Restart has a server end and another one begin at its address, which has
// no script: once one request is decided no other fails.
func TestRD02Restart(t *testing.T) {
	t.Parallel()
	first := ownServer(t)
	p := newProxy(t, first.Addr())
	s := openAt(t, redis.Options{Budget: patience}, p.Addr())
	rule := yearly(t, backend.OnErrorFail)
	inParallel(8, func(int) {
		for range 20 {
			if !s.decides(t, rule) {
				t.Error("a request before the restart failed")
			}
		}
	})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := ownServer(t)
	p.Lead(second.Addr())
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	inParallel(8, func(int) {
		for range 20 {
			if !s.decides(t, rule) {
				t.Error("a request after the restart failed")
			}
		}
	})
	if errors := s.Stats().Errors; errors[redis.Script] > 0 {
		t.Errorf("errors by kind are %v, want none for want of the script", errors)
	}
}

// TestRD02ScriptFlush forgets the scripts again and again while requests run.
func TestRD02ScriptFlush(t *testing.T) {
	t.Parallel()
	const requests = 200
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 8 * requests, Window: 365 * 24 * time.Hour})
	stop, flusher := context.WithCancel(t.Context())
	var flushed sync.WaitGroup
	flushed.Go(func() {
		for stop.Err() == nil {
			if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	inParallel(8, func(int) {
		for range requests {
			if verdict, answers := s.decide(t, backend.AllOrNothing, ask("k", r, 1)); verdict != backend.OK {
				t.Errorf("verdict is %d: %+v", verdict, answers)
			}
		}
	})
	flusher()
	flushed.Wait()
	if verdict, _ := s.decide(t, backend.AllOrNothing, ask("k", r, 1)); verdict != backend.OverLimit {
		t.Errorf("verdict after all hits is %d", verdict)
	}
}
