package algorithms

import (
	"math"
	"testing"
	"time"
)

// admitted is n hits that a greedy caller was allowed at an instant of true time.
type admitted struct{ at, n int64 }

// greedy asks for as much as there is, at every step of true time. The clock
// that decides falls behind true time by steps back, if it may.
func greedy(w *walk, k *key, stepsBack bool) []admitted {
	var got []admitted
	window := int64(k.rule.Window())
	at, lag := int64(1_790_000_000_000_000_000), int64(0)
	for !w.done() {
		at += pick(w, 0, 1, w.below(window), w.below(window/k.rule.Limit()+1), window-1, window/k.rule.Buckets())
		if stepsBack && w.below(8) == 0 {
			lag += w.below(3 * window)
		}
		n := pick(w, 1, max(1, k.would(at-lag, 0).Remaining))
		if k.decide(at-lag, n).Allowed {
			got = append(got, admitted{at, n})
		}
	}
	return got
}

// most is the most hits in any half-open span of time.
func most(got []admitted, span int64) int64 {
	var high, sum int64
	from := 0
	for _, a := range got {
		sum += a.n
		for got[from].at <= a.at-span {
			sum -= got[from].n
			from++
		}
		high = max(high, sum)
	}
	return high
}

func TestNoWindowHoldsMoreThanItMay(t *testing.T) {
	t.Parallel()
	for seed := range 300 {
		w := randomWalk(seed, 1500)
		r := w.rule(nil, FixedWindow, SlidingCounter, SlidingLog)
		p := r.params
		p.Overdraft = 0
		k := newKey(t, p)
		got := greedy(w, k, false)
		whole, bucket := most(got, int64(p.Window)), int64(p.Window)/p.Buckets
		allowed := 2 * p.Limit
		switch p.Kind {
		case SlidingLog:
			allowed = p.Limit
		case SlidingCounter:
			allowed--
			if p.Buckets == 1 {
				break
			}
			if part := most(got, int64(p.Window)-bucket); part > p.Limit {
				t.Errorf("seed %d: %d hits in a window less a bucket, of %+v", seed, part, p)
			}
		default:
		}
		if whole > allowed {
			t.Errorf("seed %d: %d hits in a window, at most %d, of %+v", seed, whole, allowed, p)
		}
	}
}

// B + d*L/W bounds what a TAT kind admits in a span d of true time, even when
// the clock steps back.
func TestTATAdmitsItsRate(t *testing.T) {
	t.Parallel()
	for seed := range 300 {
		w := randomWalk(seed, 1000)
		p := w.rule(nil, TokenBucket, LeakyMeter, LeakyQueue, GCRA, Adaptive).params
		p.Overdraft = 0
		got := greedy(w, newKey(t, p), seed%2 == 0)
		capacity := mustNew(t, p).Capacity()
		for i := range got {
			var sum int64
			for _, a := range got[i:] {
				sum += a.n
				if cmpProducts(max(0, sum-capacity), int64(p.Window), a.at-got[i].at, p.Limit) > 0 {
					t.Fatalf("seed %d: %d hits in %s of %+v", seed, sum, time.Duration(a.at-got[i].at), p)
				}
			}
		}
	}
}

func TestQueueDeparturesKeepTheRate(t *testing.T) {
	t.Parallel()
	for seed := range 100 {
		w := randomWalk(seed, 500)
		k := newKey(t, w.rule(nil, LeakyQueue).params)
		at, last := int64(0), int64(math.MinInt64)
		emission := int64(k.rule.Window()) / k.rule.Limit()
		for !w.done() {
			at += w.below(2*emission + 2)
			d := k.decide(at, 1)
			if !d.Allowed {
				continue
			}
			if departure := at + int64(d.Delay); last != math.MinInt64 && departure-last < emission-1 {
				t.Fatalf("seed %d: departures %d ns apart, of %+v", seed, departure-last, k.rule.params)
			}
			last = at + int64(d.Delay)
		}
	}
}
