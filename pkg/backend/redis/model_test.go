package redis_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

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

// order is the k-th order of the steps of two clients, or false.
func order(k int) (who [2 * steps]int, ok bool) {
	first := 0
	for i := range who {
		who[i] = k >> i & 1
		first += 1 - who[i]
	}
	return who, first == steps
}

// TestGiveBackModel runs two requests over two keys in every order of their steps,
// with each of them ending after each step or never, and compares what is left
// with a model that knows the admitted hits alone: never more, and as much if
// nobody has crashed and no time has passed.
func TestGiveBackModel(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(3, time.Second) {
		for _, pace := range []time.Duration{0, 130 * time.Millisecond, 410 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, a step each %v", name, pace), func(t *testing.T) {
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
						interleave(t, s, rule, clock, interleaving{who, crash, pace, strconv.Itoa(runs)})
					}
				}
			})
		}
	}
}

type interleaving struct {
	who   [2 * steps]int
	crash int // of client 0 after so many steps, or of client 1 after so many less steps; 2*steps: none
	pace  time.Duration
	name  string
}

func interleave(t *testing.T, s *store, rule *backend.Rule, clock *backendtest.Clock, run interleaving) {
	t.Helper()
	x, y := "x"+run.name, "y"+run.name
	clients := [2]*client{{keys: []string{x, y}, hits: 2, crash: steps}, {keys: []string{y, x}, hits: 2, crash: steps}}
	if run.crash < 2*steps {
		clients[run.crash/steps].crash = run.crash % steps
	}
	modelNow := clock.Now()
	model := backendtest.NewModel(func() int64 { return modelNow })
	var events []charged
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
		_, answers := s.decide(t, backend.Look, ask(key, rule, 0))
		want := make([]backend.Answer, 1)
		for _, e := range events {
			if e.key != key {
				continue
			}
			modelNow = e.at
			one := &backend.Request{Charge: backend.Independent, Asks: []backend.Ask{ask(key, rule, e.hits)}}
			if model.Decide(t.Context(), one, want) != backend.OK {
				t.Errorf("%+v: hits of %s are admitted twice", run, key)
			}
		}
		modelNow = clock.Now()
		model.Decide(t.Context(), &backend.Request{Charge: backend.Look, Asks: []backend.Ask{ask(key, rule, 0)}}, want)
		exact := run.pace == 0 && run.crash == 2*steps
		if left := answers[0].Remaining; left > want[0].Remaining || exact && left < want[0].Remaining {
			t.Errorf("%+v: %d left of %s, want %d", run, left, key, want[0].Remaining)
		}
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
