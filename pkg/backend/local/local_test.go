package local

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, c backendtest.Config) backend.Backend {
		t.Helper()
		return newStore(t, Options{Now: c.Now, SweepEvery: idle})
	})
}

// TestSweptWalk compares a store that is swept all the time, and whose keys lie
// close together, with a model that forgets nothing.
func TestSweptWalk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys int // of each algorithm
	}{
		{"few keys", 4},
		{"many keys", 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := backendtest.NewClock()
			l := newStore(t, Options{Now: clock.Now, SweepEvery: idle})
			l.shards = l.shards[:1]
			step := 0
			backendtest.Walk{Steps: walkSteps, Seed: 2, Keys: test.keys, Check: func() {
				l.sweepPage()
				if step++; step%100 == 0 {
					check(t, l)
				}
			}}.Run(t, l, clock)
			clock.Advance(time.Hour)
			sweepRound(l)
			if stats := l.Stats(); stats.Keys > 0 || stats.MemoryBytes > 0 {
				t.Errorf("%d keys and %d bytes are left of an expired store", stats.Keys, stats.MemoryBytes)
			}
		})
	}
}

// TestManyGoroutines has everything at once: evictions, overflow, sweeping.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	l := newStore(t, Options{MaxKeys: 500, SweepEvery: time.Millisecond})
	var rules []*backend.Rule
	for _, p := range []algorithms.Params{
		{Kind: algorithms.GCRA},
		{Kind: algorithms.SlidingLog},
		{Kind: algorithms.FixedWindow},
		{Kind: algorithms.SlidingCounter, Buckets: 4},
		{Kind: algorithms.LeakyMeter, Overdraft: 2},
	} {
		for _, limit := range []int64{1, 3} {
			p.Limit, p.Window = limit, 10*time.Millisecond
			rules = append(rules, newRule(t, p))
		}
	}
	var all sync.WaitGroup
	for g := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(g, g))
			for range 3000 {
				req := &backend.Request{Charge: backend.AllOrNothing + backend.Charge(random.IntN(4))}
				for range 1 + random.IntN(4) {
					n := random.IntN(1000)
					req.Asks = append(req.Asks, ask(strconv.Itoa(n), rules[n%len(rules)], random.Int64N(4)-1))
				}
				l.Decide(t.Context(), req, make([]backend.Answer, len(req.Asks)))
				if n := random.IntN(100); n == 0 {
					l.Stats()
				}
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, l)
}

func TestSweeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newStore(t, Options{})
		const short, long = 20_000, 10_000
		fillKeys(t, l, gcra(t, 1, time.Second), 0, short)
		fillKeys(t, l, gcra(t, 1, time.Hour), short, long)
		if got := l.Stats().Keys; got != short+long {
			t.Errorf("store has %d keys, want %d", got, short+long)
		}
		time.Sleep(DefaultSweepEvery + 2*time.Second)
		if got := l.Stats().Keys; got != long {
			t.Errorf("swept store has %d keys, want %d", got, long)
		}
	})
}

// TestSameKeyOtherLayout asks what no rule set should: the state starts anew.
func TestSameKeyOtherLayout(t *testing.T) {
	t.Parallel()
	l, _ := newSmall(t, 100)
	rules := []*backend.Rule{
		newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: 1, Window: time.Hour}),
		gcra(t, 1, time.Hour),
		newRule(t, algorithms.Params{Kind: algorithms.SlidingCounter, Buckets: 4, Limit: 1, Window: time.Hour}),
	}
	for range 2 {
		for _, rule := range rules {
			decide(t, l, backend.Independent, asks(ask("k", rule, 1), ask("k", rule, 1)), true, false)
		}
	}
	decide(t, l, backend.AllOrNothing, asks(ask("k", rules[0], 1), ask("k", rules[1], 1), ask("k", rules[2], 0)), true, true, true)
	decide(t, l, backend.AllOrNothing, asks(ask("n", rules[0], 1), ask("n", rules[1], 1), ask("n", rules[2], 1)), true, true, true)
	deny := ask("d", newRule(t, algorithms.Params{Kind: algorithms.Deny}), 1)
	deny.Mode = backend.Shadow
	decide(t, l, backend.AllOrNothing, asks(ask("d", rules[1], 1), deny), true, false)
	decide(t, l, backend.AllOrNothing, asks(ask("d", rules[1], 1)), false)
}

func TestClose(t *testing.T) {
	t.Parallel()
	l, _ := newSmall(t, 100)
	rule := gcra(t, 1, time.Hour)
	fillKeys(t, l, rule, 0, 101)
	if got := l.Stats().OverflowGroups; got != 1 {
		t.Errorf("%d shared states after one key too many, want 1", got)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := l.Stats(); got.Keys != 0 || got.MemoryBytes != 0 || got.OverflowGroups != 0 {
			t.Errorf("closed store: %+v", got)
		}
		decide(t, l, backend.AllOrNothing, asks(ask("k", rule, 1)), true)
		decide(t, l, backend.AllOrNothing, asks(ask("k", rule, 1)), false)
		if len(l.arena.chunks) > 0 {
			t.Error("closed store maps memory that nobody will give back")
		}
	}
	if err := l.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
