package redis_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// steps is the most that one request of interleaving does: two charges, two that
// give back.
const steps = 4

// client is a request under way. It charges its keys one after another and gives
// back what it got if one of them refuses.
type client struct {
	keys    []string
	hits    int64
	charged []charged
	back    []func()
	refused bool
	done    int // steps
	crash   int // after so many steps; steps: never
}

type charged struct {
	key  string
	hits int64
	at   int64 // ns
}

// step does the next thing, if there is one.
func (c *client) step(t *testing.T, s *store, rule *backend.Rule, now int64) {
	t.Helper()
	if c.done >= c.crash {
		return
	}
	defer func() { c.done++ }()
	if n := c.done; n < len(c.keys) {
		allowed, back := s.Part(t, c.keys[n], rule, c.hits)
		c.refused = c.refused || !allowed
		if allowed {
			c.charged = append(c.charged, charged{c.keys[n], c.hits, now})
			c.back = append(c.back, back)
		}
		return
	}
	if c.refused && len(c.back) > 0 {
		c.back[0]()
		c.back, c.charged = c.back[1:], c.charged[1:]
	}
}

// stands says whether the charges are those of an admitted request.
func (c *client) stands() bool { return !c.refused && c.done >= len(c.keys) }

// order is the k-th order of the steps of two clients, or false. Client 0 begins, as
// either is like the other.
func order(k int) (who [2 * steps]int, ok bool) {
	first := 0
	for i := range who {
		who[i] = k >> i & 1
		first += 1 - who[i]
	}
	return who, first == steps && who[0] == 0
}

// TestGiveBackModel runs two requests over two keys in every order of their steps,
// with each of them ending after each step or never, and compares what is left
// with a model that knows the admitted hits alone: never more, and as much if
// nobody has crashed and no time has passed.
func TestGiveBackModel(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(3, time.Second) {
		if p.Kind == algorithms.TokenBucket || p.Kind == algorithms.LeakyMeter || p.Kind == algorithms.Adaptive {
			continue // to the script they are gcra
		}
		for _, pace := range []time.Duration{0, 130 * time.Millisecond, 410 * time.Millisecond} {
			for _, held := range []int64{0, 2} {
				t.Run(fmt.Sprintf("%s, a step each %v, %d held", name, pace, held), func(t *testing.T) {
					t.Parallel()
					rule, runs := newRule(t, p), 0
					clock := backendtest.NewClock()
					s := open(t, shared.shared, redis.Options{Now: clock.Now})
					for k := range 1 << (2 * steps) {
						who, ok := order(k)
						if !ok {
							continue
						}
						for crash := range 2*steps + 1 {
							runs++
							interleave(t, s, rule, clock, interleaving{who, crash, pace, held, strconv.Itoa(runs)})
						}
					}
				})
			}
		}
	}
}

type interleaving struct {
	who   [2 * steps]int
	crash int // of client 0 after so many steps, or of client 1 after so many less steps; 2*steps: none
	pace  time.Duration
	held  int64 // hits of y before, which leave room for one; then clients have one, too
	name  string
}

func interleave(t *testing.T, s *store, rule *backend.Rule, clock *backendtest.Clock, run interleaving) {
	t.Helper()
	x, y := "x"+run.name, "y"+run.name
	clients := [2]*client{{keys: []string{x, y}, hits: 2, crash: steps}, {keys: []string{y, x}, hits: 2, crash: steps}}
	var events []charged
	if run.held > 0 {
		clients[0].hits, clients[1].hits, clients[1].keys = 1, 1, clients[0].keys
		s.admitted(t, 1, ask(y, rule, run.held))
		events = append(events, charged{y, run.held, clock.Now()})
	}
	if run.crash < 2*steps {
		clients[run.crash/steps].crash = run.crash % steps
	}
	modelNow := clock.Now()
	model := backendtest.NewModel(func() int64 { return modelNow })
	for _, w := range run.who {
		clients[w].step(t, s, rule, clock.Now())
		clock.Advance(run.pace)
	}
	for _, c := range clients {
		if c.stands() {
			events = append(events, c.charged...)
		}
	}
	slices.SortStableFunc(events, func(a, b charged) int { return cmp.Compare(a.at, b.at) })
	for _, key := range []string{x, y} {
		for _, e := range events {
			if e.key != key {
				continue
			}
			modelNow = e.at
			one := &backend.Request{Charge: backend.Independent, Asks: []backend.Ask{ask(key, rule, e.hits)}}
			if model.Decide(t.Context(), one, make([]backend.Answer, 1)) != backend.OK {
				t.Errorf("%+v: hits of %s are admitted twice", run, key)
			}
		}
	}
	exact := run.pace == 0 && run.crash == 2*steps
	// A window that the first hit begins may have been begun by one that does not
	// stand; it is still one window.
	for range 3 { // what is left of a state shows what it is made of
		modelNow = clock.Now()
		look := &backend.Request{Charge: backend.Look, Asks: []backend.Ask{ask(x, rule, 0), ask(y, rule, 0)}}
		want, got := make([]backend.Answer, 2), make([]backend.Answer, 2)
		model.Decide(t.Context(), look, want)
		s.Decide(t.Context(), look, got)
		for i := range got {
			if got[i].Remaining > want[i].Remaining && !rule.Limit.FirstHit() || exact && got[i].Remaining < want[i].Remaining {
				t.Errorf("%+v: %d left of key %d, want %d", run, got[i].Remaining, i, want[i].Remaining)
			}
		}
		clock.Advance(330 * time.Millisecond)
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	for _, key := range []string{"rls1{}", "rls1{}a", "rls1{}{x}", "rls1{}}{", "rls1#{}\x00\xff"} {
		if got, want := redis.SlotOf(key), int(s.masters[0].ClusterKeySlot(t.Context(), key).Val()); got != want {
			t.Errorf("slot of %q is %d, want %d", key, got, want)
		}
	}
}
