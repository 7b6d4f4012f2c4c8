package local

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
)

// newSmall is a store of one shard with room for maxKeys.
func newSmall(t *testing.T, maxKeys int) (*Local, *backendtest.Clock) {
	t.Helper()
	clock := backendtest.NewClock()
	l := newStore(t, Options{Now: clock.Now, MaxKeys: maxKeys, SweepEvery: idle})
	t.Cleanup(func() { check(t, l) })
	return l, clock
}

func wantKeys(t *testing.T, l *Local, there, gone []string) {
	t.Helper()
	for _, key := range there {
		if p, _ := l.shards[0].table.find(l.hash([]byte(key))); p == nil {
			t.Errorf("key %s is gone", key)
		}
	}
	for _, key := range gone {
		if p, _ := l.shards[0].table.find(l.hash([]byte(key))); p != nil {
			t.Errorf("key %s is there", key)
		}
	}
}

// TestEvictedIsNotForgiven exhausts a key and then floods a small store.
func TestEvictedIsNotForgiven(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		limit    int64 // of the flood
		overflow bool  // whether the flood itself ends at its limit
	}{
		{"flood of idle keys", 100, false},
		{"flood of exhausted keys", 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const maxKeys = 10_000
			clock := backendtest.NewClock()
			l := newStore(t, Options{Now: clock.Now, MaxKeys: maxKeys, SweepEvery: idle})
			victim := gcra(t, 5, time.Hour)
			for range 5 {
				decide(t, l, backend.AllOrNothing, asks(ask("K", victim, 1)), true)
			}
			fillKeys(t, l, gcra(t, test.limit, time.Hour), 0, flood)
			decide(t, l, backend.AllOrNothing, asks(ask("K", victim, 1)), false)
			stats := l.Stats()
			if stats.Keys > maxKeys || stats.MaxKeys != maxKeys || stats.MemoryBytes > maxKeys*160 {
				t.Errorf("store of %d keys at most: %+v", maxKeys, stats)
			}
			if test.overflow != (stats.OverflowDecisions > 0) || test.overflow == (stats.Evictions > 0) {
				t.Errorf("flood gave %d evictions and %d decisions on shared states", stats.Evictions, stats.OverflowDecisions)
			}
			check(t, l)
		})
	}
}

// TestOverflow fills a store with a key at its limit, so that new ones share.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, p := range []algorithms.Params{
		{Kind: algorithms.FixedWindow},
		{Kind: algorithms.SlidingCounter, Buckets: 4},
		{Kind: algorithms.SlidingLog},
		{Kind: algorithms.GCRA},
	} {
		t.Run(fmt.Sprintf("kind %d", p.Kind), func(t *testing.T) {
			t.Parallel()
			l, clock := newSmall(t, 1)
			p.Limit, p.Window = 2, time.Hour
			rule, other := newRule(t, p), newRule(t, p)
			other.Group = rule.Group + 1
			decide(t, l, backend.AllOrNothing, asks(ask("A", rule, 2)), true)
			decide(t, l, backend.AllOrNothing, asks(ask("B", rule, 1)), true)
			decide(t, l, backend.AllOrNothing, asks(ask("C", rule, 2)), false)
			decide(t, l, backend.AllOrNothing, asks(ask("C", rule, 1), ask("D", rule, 1)), true, false)
			decide(t, l, backend.Look, asks(ask("C", rule, 1)), true)
			decide(t, l, backend.Independent, asks(ask("C", rule, 1), ask("D", rule, 1)), true, false)
			decide(t, l, backend.AllOrNothing, asks(ask("E", rule, 0)), false)
			decide(t, l, backend.AllOrNothing, asks(ask("E", other, 1)), true)
			want := Stats{Keys: 1, MaxKeys: 1, OverflowGroups: 2, OverflowDecisions: 9}
			got := l.Stats()
			got.MemoryBytes = 0
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
			decide(t, l, backend.AllOrNothing, asks(ask("A", rule, -1)), true)
			decide(t, l, backend.AllOrNothing, asks(ask("E", rule, 0)), false)
			decide(t, l, backend.Look, asks(ask("E", rule, 1)), false)
			decide(t, l, backend.AllOrNothing, asks(ask("E", rule, 2)), true)
			wantKeys(t, l, []string{"E"}, []string{"A"})
			clock.Advance(2 * time.Hour)
			decide(t, l, backend.AllOrNothing, asks(ask("E", rule, 0)), true)
			decide(t, l, backend.AllOrNothing, asks(ask("F", rule, 2)), true)
			wantKeys(t, l, []string{"F"}, []string{"E"})
			sweepRound(l)
			if len(l.overflow.states) > 0 {
				t.Errorf("%d shared states outlive their time", len(l.overflow.states))
			}
		})
	}
}

// TestVictims fills a store with idle keys, of which new ones take the places.
func TestVictims(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		kept        []string // charged once each, a minute apart
		wait        time.Duration
		charge      backend.Charge
		hits        int64
		asked       []string // in one request
		beside      bool     // whether a rule that denies is asked, too
		there, gone []string
		evictions   int64
	}{
		{
			name: "the one that is full first", kept: []string{"A", "B"}, hits: 1, asked: []string{"C"},
			there: []string{"B", "C"}, gone: []string{"A"}, evictions: 1,
		},
		{
			name: "an expired one", kept: []string{"A", "B"}, wait: time.Hour, hits: 1, asked: []string{"C"},
			there: []string{"B", "C"}, gone: []string{"A"},
		},
		{
			name: "two for two", kept: []string{"A", "B"}, hits: 1, asked: []string{"C", "D"},
			there: []string{"C", "D"}, gone: []string{"A", "B"}, evictions: 2,
		},
		{
			name: "two by themselves", kept: []string{"A", "B"}, charge: backend.Independent, hits: 1, asked: []string{"C", "D"},
			there: []string{"D"}, gone: []string{"A"}, evictions: 2,
		},
		{
			name: "not one of the same request", kept: []string{"A", "B"}, hits: 1, asked: []string{"C", "A"},
			there: []string{"A", "C"}, gone: []string{"B"}, evictions: 1,
		},
		{
			name: "none for a third", kept: []string{"A", "B"}, hits: 1, asked: []string{"C", "A", "D"},
			there: []string{"A", "C"}, gone: []string{"B", "D"}, evictions: 1,
		},
		{
			name: "the free place first", kept: []string{"A"}, hits: 1, asked: []string{"C", "D"},
			there: []string{"C", "D"}, gone: []string{"A"}, evictions: 1,
		},
		{
			name: "none for a look", kept: []string{"A", "B"}, asked: []string{"C"},
			there: []string{"A", "B"}, gone: []string{"C"},
		},
		{
			name: "none for a charge by Look", kept: []string{"A", "B"}, charge: backend.Look, hits: 1, asked: []string{"C"},
			there: []string{"A", "B"}, gone: []string{"C"},
		},
		{
			name: "none for a refund", kept: []string{"A", "B"}, hits: -1, asked: []string{"C"},
			there: []string{"A", "B"}, gone: []string{"C"},
		},
		{
			name: "none for a refused request", kept: []string{"A", "B"}, hits: 1, asked: []string{"C"}, beside: true,
			there: []string{"A", "B"}, gone: []string{"C"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, clock := newSmall(t, 2)
			rule, deny := gcra(t, 100, time.Hour), newRule(t, algorithms.Params{Kind: algorithms.Deny})
			for _, key := range test.kept {
				decide(t, l, backend.AllOrNothing, asks(ask(key, rule, 50)), true)
				clock.Advance(time.Minute)
			}
			clock.Advance(test.wait)
			req := &backend.Request{Charge: cmp.Or(test.charge, backend.AllOrNothing)}
			for _, key := range test.asked {
				req.Asks = append(req.Asks, ask(key, rule, test.hits))
			}
			if test.beside {
				req.Asks = append(req.Asks, ask("deny", deny, 1))
			}
			l.Decide(t.Context(), req, make([]backend.Answer, len(req.Asks)))
			wantKeys(t, l, test.there, test.gone)
			if got := l.Stats().Evictions; got != test.evictions {
				t.Errorf("%d evictions, want %d", got, test.evictions)
			}
		})
	}
}

func TestOverflowSweep(t *testing.T) {
	t.Parallel()
	o := &overflow{states: map[overflowKey]*overflowState{}}
	for group := range uint64(300) {
		o.states[overflowKey{group: group}] = &overflowState{full: 10}
	}
	for _, step := range []struct {
		now  int64
		left int
	}{{9, 300}, {10, 300 - 256}, {10, 0}} {
		o.sweep(step.now)
		if got := len(o.states); got != step.left {
			t.Errorf("%d states are left at %d, want %d", got, step.now, step.left)
		}
	}
	if o.states != nil {
		t.Error("empty map keeps its memory")
	}
}

// TestLoweredLimit exhausts a key by lowering its limit: it is no victim then.
func TestLoweredLimit(t *testing.T) {
	t.Parallel()
	l, _ := newSmall(t, 1)
	high, low := gcra(t, 10, time.Hour), gcra(t, 5, time.Hour)
	decide(t, l, backend.AllOrNothing, asks(ask("A", high, 9)), true)
	decide(t, l, backend.AllOrNothing, asks(ask("A", low, 1)), false)
	decide(t, l, backend.AllOrNothing, asks(ask("B", low, 1)), true)
	wantKeys(t, l, []string{"A"}, []string{"B"})
}

// TestAnotherLimitDoesNotForgive: a key at its limit is no victim because somebody
// asked it under a higher one; after a refund it is.
func TestAnotherLimitDoesNotForgive(t *testing.T) {
	t.Parallel()
	window := func(limit int64) *backend.Rule {
		return newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: limit, Window: time.Hour})
	}
	low, high := window(2), window(1000)
	l, _ := newSmall(t, 1)
	decide(t, l, backend.AllOrNothing, asks(ask("A", low, 2)), true)
	decide(t, l, backend.AllOrNothing, asks(ask("A", low, 1)), false)
	decide(t, l, backend.AllOrNothing, asks(ask("A", high, 1)), true)
	decide(t, l, backend.AllOrNothing, asks(ask("B", low, 1)), true)
	decide(t, l, backend.AllOrNothing, asks(ask("A", low, 1)), false)
	decide(t, l, backend.AllOrNothing, asks(ask("A", low, -2)), true)
	decide(t, l, backend.AllOrNothing, asks(ask("C", low, 1)), true)
	wantKeys(t, l, []string{"C"}, []string{"A"})
}

// TestEqualKeysWithoutRoom has two rules for one new key of a full store.
func TestEqualKeysWithoutRoom(t *testing.T) {
	t.Parallel()
	one, two := gcra(t, 10, time.Hour), gcra(t, 10, time.Hour)
	two.Group++
	t.Run("in a victim's place", func(t *testing.T) {
		t.Parallel()
		l, _ := newSmall(t, 1)
		decide(t, l, backend.AllOrNothing, asks(ask("A", one, 1)), true)
		decide(t, l, backend.AllOrNothing, asks(ask("B", one, 5), ask("B", two, 5)), true, true)
		decide(t, l, backend.AllOrNothing, asks(ask("B", one, 1)), false)
		wantKeys(t, l, []string{"B"}, []string{"A"})
	})
	t.Run("in shared states", func(t *testing.T) {
		t.Parallel()
		l, _ := newSmall(t, 1)
		decide(t, l, backend.AllOrNothing, asks(ask("A", one, 10)), true)
		decide(t, l, backend.AllOrNothing, asks(ask("B", one, 3), ask("B", two, 4)), true, true)
		decide(t, l, backend.AllOrNothing, asks(ask("B", one, 2), ask("B", two, 3), ask("C", one, 5), ask("B", one, 0)), true, true, true, true)
		decide(t, l, backend.Look, asks(ask("D", one, 1)), false)
		decide(t, l, backend.Look, asks(ask("D", two, 3)), true)
		decide(t, l, backend.Look, asks(ask("D", two, 4)), false)
	})
}
