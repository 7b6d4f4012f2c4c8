package algorithms

import (
	"fmt"
	"math"
	"testing"
)

func allKinds() []Kind {
	return append(tatKinds(), FixedWindow, SlidingCounter, SlidingLog)
}

// everywhere calls check with keys of the kinds in the states of random walks,
// at the instant of the last step, which leaves room for any wait after it.
func everywhere(t *testing.T, kinds []Kind, check func(t *testing.T, w *walk, k *key, now int64)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(fmt.Sprint("kind ", kind), func(t *testing.T) {
			t.Parallel()
			for seed := range 40 {
				w := randomWalk(seed, 600)
				k := newKey(t, w.rule(nil, kind).params)
				for !w.done() {
					now, hits := w.step(k.rule)
					w.last = k.decide(now, hits)
					if now = instant(now); now > maxInstant-int64(MaxFill) {
						continue
					}
					check(t, w, k, now)
					if t.Failed() {
						t.Fatalf("seed %d, after %d hits at %d of %+v", seed, hits, now, k.rule.params)
					}
				}
			}
		})
	}
}

func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		n := w.count(k.rule.Capacity())
		k = k.clone() // post-paid: the wait is read after the charge
		d := k.decide(now, n)
		if d.Allowed {
			return
		}
		if at := k.would(now+int64(d.RetryAfter), n); !at.Allowed {
			t.Errorf("%d hits: %+v, then %+v", n, d, at)
		}
		if before := k.would(now+int64(d.RetryAfter)-1, n); before.Allowed {
			t.Errorf("%d hits: %+v, but 1 ns before %+v", n, d, before)
		}
	})
}

func TestResetAfterIsExact(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, _ *walk, k *key, now int64) {
		t.Helper()
		d := k.would(now, 0)
		if at := k.would(now+int64(d.ResetAfter), 0); at.Remaining != k.rule.Capacity() || at.ResetAfter != 0 {
			t.Errorf("%+v, then %+v", d, at)
		}
		if d.ResetAfter == 0 {
			return
		}
		if before := k.would(now+int64(d.ResetAfter)-1, 0); before.Remaining == k.rule.Capacity() {
			t.Errorf("%+v, but 1 ns before %+v", d, before)
		}
	})
}

func TestRemainingIsExact(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, _ *walk, k *key, now int64) {
		t.Helper()
		left := k.would(now, 0).Remaining
		if d := k.would(now, left); left > 0 && !d.Allowed {
			t.Errorf("%d remain: %+v", left, d)
		}
		if d := k.would(now, left+1); d.Allowed {
			t.Errorf("%d remain, one more: %+v", left, d)
		}
	})
}

func TestRemainingNeverFallsInSilence(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		before := k.would(now, 0)
		later := k.would(now+w.below(int64(k.rule.Window())), 0)
		if later.Remaining < before.Remaining || later.ResetAfter > before.ResetAfter {
			t.Errorf("%+v, later %+v", before, later)
		}
	})
}

func TestRefusalsAndLooksLeaveNoTrace(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		now -= w.below(2) * w.below(2*int64(k.rule.Window()))
		healed := k.clone()
		looks := [2]Decision{healed.decide(now, 0), healed.decide(now, 0)}
		if looks[0] != looks[1] {
			t.Errorf("a look at the same instant: %+v, then %+v", looks[0], looks[1])
		}
		left := k.would(now, 0).Remaining
		after := k.clone()
		d := after.decide(now, left+1)
		if k.rule.Overdraft() == 0 && !after.equal(healed) {
			t.Errorf("refused with %+v, but not as it was", d)
		}
	})
}

// A refund that fills a key up leaves the state of a key that was never seen, by
// which stores know that it can go.
func TestFullRefundForgets(t *testing.T) {
	t.Parallel()
	everywhere(t, allKinds(), func(t *testing.T, _ *walk, k *key, now int64) {
		t.Helper()
		k = k.clone()
		d := k.decide(now, math.MinInt64)
		want := Decision{Allowed: true, Remaining: k.rule.Capacity()}
		if d != want || k.state != (State{}) || k.log.size != 0 || k.counts.total() != 0 {
			t.Errorf("%+v, state %v, log of %d, counts %v", d, k.state, k.log.size, k.counts.held)
		}
	})
}

// Post-paid, a charge that does not fit leaves exactly its charge, up to B+N.
func TestOverdraftRecordsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	kinds := []Kind{TokenBucket, LeakyMeter, GCRA, FixedWindow, SlidingCounter}
	everywhere(t, kinds, func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		capacity, overdraft := k.rule.Capacity(), k.rule.Overdraft()
		k = newKey(t, k.rule.params)
		k.decide(now, capacity)
		n := w.count(MaxCount)
		d := k.decide(now, n)
		debt := min(n, overdraft)
		if overdraft == 0 {
			debt = 0
		}
		k.decide(now, -debt)
		if d.Allowed || k.would(now, 0).Remaining != 0 {
			t.Errorf("%d hits beyond a full key: %+v", n, d)
		}
		if k.decide(now, -1); k.would(now, 0).Remaining != 1 {
			t.Errorf("%d hits left another debt than %d", n, debt)
		}
	})
}

// The verdict of a post-paid rule is the bare rule's on the same state.
func TestOverdraftDoesNotChangeTheVerdict(t *testing.T) {
	t.Parallel()
	kinds := []Kind{TokenBucket, LeakyMeter, GCRA, FixedWindow, SlidingCounter}
	everywhere(t, kinds, func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		p := k.rule.params
		p.Overdraft = 0
		bare := k.clone()
		bare.rule = mustNew(t, p)
		n := w.count(k.rule.Capacity() + 1)
		if with, without := k.would(now, n), bare.would(now, n); with.Allowed != without.Allowed {
			t.Errorf("%d hits: %+v, without the overdraft %+v", n, with, without)
		}
	})
}

func TestRefundRestores(t *testing.T) {
	t.Parallel()
	everywhere(t, tatKinds(), func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		n := w.count(k.rule.Capacity())
		k = k.clone()
		before := k.decide(now, 0)
		if d := k.decide(now, n); !d.Allowed {
			return
		}
		k.decide(now, -n)
		if after := k.decide(now, 0); after != before {
			t.Errorf("%d hits and back: %+v, before %+v", n, after, before)
		}
	})
}

func TestTheTATKindsAreOne(t *testing.T) {
	t.Parallel()
	everywhere(t, []Kind{TokenBucket, LeakyMeter, GCRA, LeakyQueue}, func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		p := k.rule.params
		p.MaxDelay = 0
		n := pick(w, 0, -1, w.count(k.rule.Capacity()+1))
		same := k.clone()
		same.rule = mustNew(t, p)
		want := same.would(now, n)
		want.Delay = 0
		for _, kind := range []Kind{TokenBucket, LeakyMeter, GCRA} {
			other := k.clone()
			p.Kind = kind
			other.rule = mustNew(t, p)
			if got := other.would(now, n); got != want {
				t.Errorf("%d hits of kind %d: %+v, want %+v", n, kind, got, want)
			}
		}
	})
}

// A higher limit of a window, or a higher burst, refuses nothing that passed.
func TestMoreIsNeverLess(t *testing.T) {
	t.Parallel()
	kinds := []Kind{TokenBucket, LeakyMeter, LeakyQueue, GCRA, FixedWindow, SlidingCounter, SlidingLog}
	everywhere(t, kinds, func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		p := k.rule.params
		switch {
		case p.Kind == SlidingLog:
			p.Limit = min(p.Limit+w.count(100), MaxLogLimit)
		case p.Kind.Family() != TATFamily:
			p.Limit = min(p.Limit+w.count(MaxCount), MaxCount)
		default:
			p.Burst = k.rule.Capacity() + w.count(100)
		}
		r, err := New(p)
		if err != nil { // above what the fill time allows
			return
		}
		more := k.clone()
		more.rule = r
		n := w.count(k.rule.Capacity())
		if was, is := k.would(now, n), more.would(now, n); was.Allowed && !is.Allowed {
			t.Errorf("%d hits: %+v, with %d of %d %+v", n, was, p.Limit, p.Burst, is)
		}
	})
}
