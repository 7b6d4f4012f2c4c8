package algorithms

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A walk turns bytes, random or a fuzzer's, into rules and requests. When the
// bytes run out it goes on with zeros.
type walk struct {
	data []byte
	now  int64
	last Decision // on the request before, to aim at the instants that it named
}

func randomWalk(seed, size int) *walk {
	data := make([]byte, size)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(seed))
	_, _ = rand.NewChaCha8(key).Read(data)
	return &walk{data: data}
}

func (w *walk) done() bool { return len(w.data) == 0 }

// below is a number from 0 to n-1.
func (w *walk) below(n int64) int64 {
	var word [8]byte
	size := 1
	if n > 256 {
		size = 8
	}
	w.data = w.data[copy(word[:size], w.data):]
	return int64(binary.LittleEndian.Uint64(word[:]) % uint64(n))
}

func pick[T any](w *walk, from ...T) T { return from[w.below(int64(len(from)))] }

// count is 1 to most, often small or at the end.
func (w *walk) count(most int64) int64 {
	return min(most, 1+pick(w, w.below(4), w.below(12), w.below(1000), w.below(most), most-1))
}

// rule is a rule of one of the kinds. A window rule keeps the identity of the
// state: the window and the buckets of like, if there is one.
func (w *walk) rule(like *Rule, kinds ...Kind) *Rule {
	for {
		p := Params{Kind: pick(w, kinds...), Limit: w.count(MaxCount)}
		p.Buckets = 1
		if p.Kind == SlidingCounter {
			p.Buckets = pick(w, 1, 1, 2, w.count(MaxBuckets))
		}
		longest := pick(w, 30, int64(time.Second), int64(MaxWindow))
		p.Window = time.Duration(p.Buckets * w.count(max(1, longest/p.Buckets)))
		if like != nil && p.Kind.Family() != TATFamily {
			p.Window, p.Buckets = like.Window(), like.Buckets()
		}
		if w.below(3) == 0 && p.Kind != SlidingLog && p.Kind != LeakyQueue {
			p.Overdraft = w.count(MaxCount)
		}
		switch p.Kind {
		case FixedWindow:
			p.FirstHit = w.below(2) == 0
		case SlidingLog:
			p.Limit = min(p.Limit, pick[int64](w, 4, 100, 1000))
		case LeakyQueue:
			p.MaxDelay = time.Duration(pick(w, 0, w.below(int64(p.Window)+2)))
			fallthrough
		case TokenBucket, LeakyMeter, GCRA:
			p.Burst = pick(w, 0, w.count(MaxCount))
		case Adaptive:
			p.MinLimit, p.MaxLimit = w.count(p.Limit), p.Limit
			p.BurstNum, p.BurstDen = w.count(30), w.count(30)
		default:
		}
		if r, err := New(p); err == nil {
			return r
		}
	}
}

// step moves the clock, mostly on, and picks a number of hits.
func (w *walk) step(r *Rule) (now, hits int64) {
	window, emission := int64(r.Window()), int64(r.Window())/max(1, r.Limit())
	if w.below(16) == 0 {
		w.now = pick(w, 0, w.below(math.MaxInt64), 1_790_000_000_000_000_000, maxInstant, math.MaxInt64, -w.below(math.MaxInt64))
	}
	w.now += pick(w, 0, 0, 1, w.below(emission+2), w.below(window), w.below(8*window),
		int64(w.last.RetryAfter), int64(w.last.RetryAfter)-1, int64(w.last.ResetAfter), int64(w.last.ResetAfter)-1,
		-1, -w.below(emission+2), -w.below(4*window))
	fit := w.last.Remaining
	hits = pick(w, 1, 1, 1, 0, 2, fit, fit+1, r.Capacity(), r.Capacity()+1, w.count(r.Capacity()),
		-1, -w.count(r.Capacity()), math.MinInt64, math.MaxInt64)
	return w.now, hits
}

// against runs a key beside its model.
func (w *walk) against(t *testing.T, countRefused bool, kinds ...Kind) (steps int) {
	t.Helper()
	k := key{rule: w.rule(nil, kinds...), countRefused: countRefused, log: new(Log), counts: new(Counts)}
	m := newModel(k.rule)
	m.countRefused = countRefused
	for ; !w.done(); steps++ {
		if w.below(24) == 0 {
			k.rule = w.rule(k.rule, kinds...)
			m.follow(k.rule)
		}
		now, hits := w.step(k.rule)
		want := m.decide(now, hits)
		w.last = k.decide(now, hits)
		if w.last != want {
			t.Fatalf("step %d, %d hits at %d of %+v (-want +got):\n%s", steps, hits, now, k.rule.params, cmp.Diff(want, w.last))
		}
		if k.rule.Kind().Family() == TATFamily && k.state != (State{}) && k.state[1] >= k.state[2] {
			t.Fatalf("step %d, %d hits at %d of %+v: %v holds a fraction of 1 or more", steps, hits, now, k.rule.params, k.state)
		}
	}
	return steps
}
