package redis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

func openForSuite(t *testing.T, c backendtest.Config) backend.Backend {
	t.Helper()
	return open(t, shared.shared, redis.Options{Now: c.Now})
}

func TestSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, openForSuite)
}

func TestVectors(t *testing.T) {
	t.Parallel()
	const traces = 17 // of the 52, those in whole microseconds
	backendtest.RunVectors(t, openForSuite, "../../algorithms/testdata/vectors", traces)
}

// TestTheBeginningOfTime: an injected clock that stands at the epoch, or before it, is
// not taken for Redis' own.
func TestTheBeginningOfTime(t *testing.T) {
	t.Parallel()
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	for _, now := range []int64{0, -int64(time.Hour)} {
		s := open(t, shared.shared, redis.Options{Now: func() int64 { return now }})
		_, answers := s.decide(t, backend.AllOrNothing, ask("k", rule, 1))
		if got := answers[0].Now; got != int64(time.Microsecond) || !answers[0].Allowed {
			t.Errorf("at %d ns: %+v, want a decision at 1 µs", now, answers[0])
		}
	}
}

// TestAnotherAlignment has windows of the epoch and windows that begin with their first
// hit take turns on a key, as after reloads.
func TestAnotherAlignment(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	store, model := openForSuite(t, backendtest.Config{Now: clock.Now}), backendtest.NewModel(clock.Now)
	var rules [2]*backend.Rule
	for i := range rules {
		rules[i] = newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 5, Window: time.Second, FirstHit: i == 1})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for step := range 2000 {
		clock.Advance(time.Duration(r.Int64N(300_000)) * time.Microsecond)
		req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", rules[r.IntN(2)], r.Int64N(5)-1)}}
		want, got := make([]backend.Answer, 1), make([]backend.Answer, 1)
		model.Decide(t.Context(), req, want)
		store.Decide(t.Context(), req, got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d, %d hits (-want +got):\n%s", step, req.Asks[0].Hits, diff)
		}
	}
}

// counted counts the asks that it is given.
type counted struct {
	backend.Backend

	decisions int
}

func (c *counted) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	c.decisions += len(req.Asks)
	return c.Backend.Decide(ctx, req, answers)
}

// TestWalks makes 100,000 random decisions, about three a step, with the clock
// stepping back.
func TestWalks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(walks) {
		t.Run(fmt.Sprintf("seed %d", seed+2), func(t *testing.T) {
			t.Parallel()
			clock := backendtest.NewClock()
			store := &counted{Backend: openForSuite(t, backendtest.Config{Now: clock.Now})}
			backendtest.Walk{Steps: walkSteps, Seed: seed + 2, StepBack: true}.Run(t, store, clock)
			if store.decisions < walkSteps*5/2 {
				t.Errorf("%d decisions in %d steps", store.decisions, walkSteps)
			}
		})
	}
}

// wideParams are random numbers of the whole range that rules may have.
func wideParams(r *rand.Rand) algorithms.Params {
	count := func(most int64) int64 { return 1 + int64(math.Pow(float64(most), r.Float64())) - 1 }
	p := algorithms.Params{
		Kind:   algorithms.Kind(1 + r.IntN(int(algorithms.GCRA))),
		Limit:  count(algorithms.MaxCount),
		Window: time.Duration(count(int64(algorithms.MaxWindow/time.Millisecond))) * time.Millisecond,
	}
	switch p.Kind {
	case algorithms.SlidingCounter:
		p.Buckets = int64(r.IntN(algorithms.MaxBuckets + 1))
	case algorithms.SlidingLog:
		p.Limit = count(100)
	case algorithms.FixedWindow:
		p.FirstHit = r.IntN(2) == 0
	case algorithms.LeakyQueue:
		p.MaxDelay = time.Duration(count(int64(p.Window)))
	default:
		p.Burst = count(algorithms.MaxCount)
	}
	if p.Kind != algorithms.SlidingLog && p.Kind != algorithms.LeakyQueue && r.IntN(2) == 0 {
		p.Overdraft = count(algorithms.MaxCount)
	}
	return p
}

// TestWide compares rules of the whole range of numbers with the model, each on
// one key with hits and times in proportion, or just at and beyond what the last
// answer says.
func TestWide(t *testing.T) {
	t.Parallel()
	const latest = algorithms.MaxMicro * int64(time.Microsecond)
	r := rand.New(rand.NewPCG(1, 2))
	clock := backendtest.NewClock()
	store, model := openForSuite(t, backendtest.Config{Now: clock.Now}), backendtest.NewModel(clock.Now)
	for i := 0; i < wideRules; {
		p := wideParams(r)
		limit, err := algorithms.New(p)
		if err != nil {
			continue // the fill time is too long, or the buckets do not divide the window
		}
		i++
		rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
		clock.Advance(time.Duration(backendtest.NewClock().Now() - clock.Now()))
		want, got := make([]backend.Answer, 1), make([]backend.Answer, 1)
		for range 40 {
			step, hits := next(r, limit, &want[0])
			clock.Advance(min(step, time.Duration(latest-clock.Now())))
			req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask(strconv.Itoa(i), rule, hits)}}
			model.Decide(t.Context(), req, want)
			store.Decide(t.Context(), req, got)
			for _, d := range []*time.Duration{&want[0].RetryAfter, &want[0].ResetAfter, &want[0].Delay} {
				if *d > 0 {
					*d = (*d + time.Microsecond - 1).Truncate(time.Microsecond)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d hits of %+v (-want +got):\n%s", hits, p, diff)
			}
		}
	}
}

// next is the time until the next request of TestWide, and its hits.
func next(r *rand.Rand, limit *algorithms.Rule, last *backend.Answer) (step time.Duration, hits int64) {
	hits = int64(float64(limit.Capacity()) * math.Pow(r.Float64(), 2) * 1.2)
	if r.IntN(5) == 0 {
		hits = -hits
	}
	switch r.IntN(6) {
	case 0:
		return 0, last.Remaining + r.Int64N(2)
	case 1:
		return max(0, last.RetryAfter-time.Duration(r.IntN(2))*time.Microsecond), max(1, hits)
	case 2:
		return max(0, last.ResetAfter-time.Duration(r.IntN(2))*time.Microsecond), hits
	default:
		step = time.Duration(float64(limit.Window()) * math.Pow(r.Float64(), 4) * 1.5).Truncate(time.Microsecond)
		if r.IntN(10) == 0 {
			step = -step
		}
		return step, hits
	}
}
