package redis_test

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// kinds are all algorithms at a limit in a window.
func kinds(limit int64, window time.Duration) map[string]algorithms.Params {
	all := map[string]algorithms.Params{
		"fixed":                {Kind: algorithms.FixedWindow},
		"fixed first hit":      {Kind: algorithms.FixedWindow, FirstHit: true},
		"counter":              {Kind: algorithms.SlidingCounter},
		"counter of 5 buckets": {Kind: algorithms.SlidingCounter, Buckets: 5},
		"log":                  {Kind: algorithms.SlidingLog},
		"token bucket":         {Kind: algorithms.TokenBucket},
		"leaky meter":          {Kind: algorithms.LeakyMeter},
		"leaky queue":          {Kind: algorithms.LeakyQueue},
		"gcra":                 {Kind: algorithms.GCRA},
		"adaptive":             {Kind: algorithms.Adaptive, MinLimit: limit, MaxLimit: limit},
	}
	for name, p := range all {
		p.Limit, p.Window = limit, window
		all[name] = p
	}
	return all
}

// commands is what clients have sent a server during a run.
func commands(t *testing.T, server *proc.Redis, run func()) []string {
	t.Helper()
	sent, err := server.Commands(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func checkScriptCalls(t *testing.T, sent []string) {
	t.Helper()
	for _, line := range sent {
		if !strings.Contains(line, `"evalsha"`) {
			t.Errorf("command %s is no call of the script", line)
		}
	}
}

// TestLT03OneTrip wants one command of a client for a request of three asks.
func TestLT03OneTrip(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1000, Window: time.Hour})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const requests = 20
	sent := commands(t, server, func() {
		s.admitted(t, requests, ask("a", r, 1), ask("b", r, 1), ask("c", r, 1))
	})
	checkScriptCalls(t, sent)
	if len(sent) != requests {
		t.Errorf("%d commands for %d requests, one after another", len(sent), requests)
	}
}

// TestLT03SharedTrips wants fewer commands than requests when many wait.
func TestLT03SharedTrips(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 1000, Window: time.Hour})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const goroutines, each = 16, 10
	sent := commands(t, server, func() {
		inParallel(goroutines, func(g int) { s.admitted(t, each, ask(strconv.Itoa(g), r, 1)) })
	})
	checkScriptCalls(t, sent)
	if len(sent) >= goroutines*each {
		t.Errorf("%d commands for %d requests, many at once", len(sent), goroutines*each)
	}
}

func inParallel(goroutines int, run func(g int)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() { run(g) })
	}
	all.Wait()
}

// TestWC03Exact wants exactly the limit admitted by Redis' own clock, through two
// backends as two replicas have them.
func TestWC03Exact(t *testing.T) {
	t.Parallel()
	const goroutines, each, limit = 64, 100, 1000
	for name, p := range kinds(limit, 365*24*time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := open(t, shared.shared, redis.Options{})
			two, err := redis.New(redis.Options{Addrs: []string{shared.shared.Addr()}, KeyPrefix: one.prefix, Budget: patience})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, two)
			r := newRule(t, p)
			var admitted atomic.Int64
			inParallel(goroutines, func(g int) {
				s := &store{Redis: one.Redis}
				if g%2 == 1 {
					s.Redis = two
				}
				admitted.Add(int64(s.admitted(t, each, ask("k", r, 1))))
			})
			if got := admitted.Load(); got != limit {
				t.Errorf("admitted %d, want %d", got, limit)
			}
		})
	}
}
