package backendtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/backend"
)

// testRandom compares the backend with the model, the clock stepping back at times.
func testRandom(t *testing.T, open Open) {
	s := newSubject(t, open)
	Walk{Steps: 25_000, Seed: 1, StepBack: true}.Run(t, s.store, s.clock)
}

// Walk is a run of random requests that a backend and the model must answer alike.
type Walk struct {
	Steps    int
	Seed     uint64
	Keys     int    // of each algorithm; 0 = 4, so that most are met again
	StepBack bool   // whether the clock steps back at times
	Steady   bool   // whether each key keeps to one rule
	Check    func() // called after each step, if not nil
}

// walker makes the requests of a walk.
type walker struct {
	*rand.Rand
	rules [][]*backend.Rule // by shape
	keys  int               // of each shape
	one   bool              // rule for each key
}

// Run walks. The backend must be empty and go by the clock.
func (w Walk) Run(t *testing.T, store backend.Backend, clock *Clock) {
	t.Helper()
	random := newWalker(t, w)
	model := NewModel(clock.Now)
	for step := range w.Steps {
		clock.Advance(random.elapsed(w.StepBack))
		req := random.request()
		want, got := make([]backend.Answer, len(req.Asks)), make([]backend.Answer, len(req.Asks))
		wantVerdict, gotVerdict := model.Decide(t.Context(), req, want), store.Decide(t.Context(), req, got)
		diff := gocmp.Diff(inMicroseconds(want), inMicroseconds(got))
		if wantVerdict != gotVerdict || diff != "" {
			t.Fatalf("step %d of seed %d: %s\nverdict is %d, want %d (-want +got):\n%s",
				step, w.Seed, describe(req), gotVerdict, wantVerdict, diff)
		}
		if w.Check != nil {
			w.Check()
		}
	}
}

func newWalker(t *testing.T, o Walk) *walker {
	t.Helper()
	w := &walker{Rand: rand.New(rand.NewPCG(o.Seed, o.Seed)), keys: cmp.Or(o.Keys, 4), one: o.Steady} //nolint:gosec // a run must repeat
	for _, shape := range shapes() {
		all := []numbers{{3, 0, time.Second}, {7, 0, time.Second}, {7, 0, time.Second}, {1 << 16, 0, time.Second}}
		if shape.name != "log" && shape.name != "leaky queue" {
			all = append(all, numbers{5, 4, time.Second}, numbers{3, 1, time.Second})
		}
		var rules []*backend.Rule
		for _, n := range all {
			r := newRule(t, shape.params, n)
			r.CountRefused = len(rules)%2 == 0
			rules = append(rules, r)
		}
		w.rules = append(w.rules, rules)
	}
	w.rules = append(w.rules, []*backend.Rule{deny(t)})
	return w
}

// pick is a weighted choice: of the weights' indexes.
func (w *walker) pick(weights ...int) int {
	total := 0
	for _, weight := range weights {
		total += weight
	}
	n := w.IntN(total)
	return slices.IndexFunc(weights, func(weight int) bool {
		n -= weight
		return n < 0
	})
}

// elapsed is about what one hit takes, at times a window or more, at times less
// than nothing.
func (w *walker) elapsed(back bool) time.Duration {
	micro := func(most time.Duration) time.Duration {
		return time.Duration(w.Int64N(int64(most/time.Microsecond))) * time.Microsecond
	}
	switch w.pick(30, 60, 20, 4, 5) {
	case 0:
		return 0
	case 1:
		return micro(50 * time.Millisecond)
	case 2:
		return micro(500 * time.Millisecond)
	case 3:
		return micro(5 * time.Second)
	default:
		if back {
			return -micro(3 * time.Second)
		}
		return micro(time.Millisecond)
	}
}

func (w *walker) hits() int64 {
	switch w.pick(50, 15, 15, 20, 1, 1) {
	case 0:
		return 1
	case 1:
		return 0
	case 2:
		return -1 - w.Int64N(4)
	case 3:
		return 1 + w.Int64N(8)
	case 4:
		return math.MaxInt64
	default:
		return math.MinInt64
	}
}

func (w *walker) request() *backend.Request {
	req := &backend.Request{
		Charge:    []backend.Charge{backend.AllOrNothing, backend.Independent, backend.CountRefused, backend.Look}[w.pick(12, 3, 3, 2)],
		QuotaPass: w.IntN(8) == 0,
	}
	var key []byte
	var rules []*backend.Rule // of the key
	var rule *backend.Rule
	again := false
	for range []int{1 + w.IntN(4), 9 + w.IntN(20)}[w.pick(30, 1)] {
		if !again {
			shape, number := w.IntN(len(w.rules)), w.IntN(w.keys)
			key, rules = fmt.Appendf(nil, "%d/%d", shape, number), w.rules[shape]
			if w.one {
				rules = rules[number%len(rules):][:1]
			}
			rule = rules[w.IntN(len(rules))]
		}
		req.Asks = append(req.Asks, backend.Ask{
			Key:  key,
			Rule: rule,
			Hits: w.hits(),
			Mode: []backend.Mode{0, backend.Shadow, backend.Quota, backend.Shadow | backend.Quota}[w.pick(6, 2, 2, 1)],
		})
		if again = w.IntN(3) == 0; again && w.IntN(2) == 0 {
			rule = rules[w.IntN(len(rules))]
		}
	}
	return req
}

func inMicroseconds(answers []backend.Answer) []backend.Answer {
	rounded := slices.Clone(answers)
	for i := range rounded {
		for _, d := range []*time.Duration{&rounded[i].RetryAfter, &rounded[i].ResetAfter, &rounded[i].Delay} {
			if *d > 0 {
				*d = (*d + time.Microsecond - 1).Truncate(time.Microsecond)
			}
		}
	}
	return rounded
}

func describe(req *backend.Request) string {
	var text strings.Builder
	fmt.Fprintf(&text, "charge %d, quota pass %t", req.Charge, req.QuotaPass)
	for _, a := range req.Asks {
		fmt.Fprintf(&text, "\n%s: %d hits of %d, overdraft %d, mode %d, kind %d",
			a.Key, a.Hits, a.Rule.Limit.Limit(), a.Rule.Limit.Overdraft(), a.Mode, a.Rule.Limit.Kind())
	}
	return text.String()
}
