package algorithms

import (
	"math/big"
	"time"
)

// A model is the specification of a rule with one key, written for clearness:
// what is used, exactly, as a function of time. Every wait is searched for, not
// computed.
type model struct {
	p            Params
	capacity     int64
	countRefused bool
	usage
}

// A usage is a family's state.
type usage interface {
	heal(m *model, now int64)
	// used is the number of hits held at t, if nothing happens until then.
	used(m *model, t int64) *big.Rat
	// add records hits, which fit or are a debt; fewer than 0 are a refund.
	add(m *model, now, hits int64)
}

func newModel(r *Rule) *model {
	m := &model{usage: map[Family]usage{
		TATFamily: &tatUsage{}, FixedFamily: &fixedUsage{}, CounterFamily: &counterUsage{}, LogFamily: &logUsage{},
	}[r.Kind().Family()]}
	m.follow(r)
	return m
}

// follow puts the model under a changed rule.
func (m *model) follow(r *Rule) { m.p, m.capacity = r.params, r.Capacity() }

func (m *model) decide(now, hits int64) Decision {
	now = min(max(now, 0), maxInstant)
	m.heal(m, now)
	if hits < 0 {
		m.add(m, now, hits)
		return m.standing(now, 0)
	}
	n := max(hits, 1)
	waiting := m.used(m, now)
	fits := m.fits(now, n)
	if hits > 0 && (fits || m.p.Overdraft > 0 || m.countRefused) {
		m.add(m, now, hits)
	}
	if m.countRefused {
		fits = m.fits(now, 0)
		n = hits
	}
	switch {
	case fits:
		d := m.standing(now, 0)
		if m.p.Kind == LeakyQueue && hits > 0 {
			d.Delay = ceil(new(big.Rat).Mul(waiting, m.emission()))
		}
		return d
	case n > m.capacity:
		return m.standing(now, Never)
	default:
		return m.standing(now, least(func(d int64) bool { return m.fits(now+d, n) }))
	}
}

func (m *model) fits(t, n int64) bool {
	used := m.used(m, t)
	queued := new(big.Rat).Mul(used, m.emission())
	return queued.Cmp(whole(int64(m.p.MaxDelay))) <= 0 && used.Add(used, whole(n)).Cmp(whole(m.capacity)) <= 0
}

func (m *model) standing(now int64, retry time.Duration) Decision {
	d := Decision{Allowed: retry == 0, RetryAfter: retry}
	if m.fits(now, 0) {
		d.Remaining = floor(new(big.Rat).Sub(whole(m.capacity), m.used(m, now)))
	}
	d.ResetAfter = least(func(d int64) bool { return m.used(m, now+d).Sign() == 0 })
	return d
}

func (m *model) emission() *big.Rat { return big.NewRat(int64(m.p.Window), m.p.Limit) }

// most is what may be held: the capacity and the debt.
func (m *model) most() *big.Rat { return whole(m.capacity + m.p.Overdraft) }

// debt cuts hits to what may be held at now.
func (m *model) debt(now, hits int64) int64 {
	return min(hits, max(0, floor(new(big.Rat).Sub(m.most(), m.used(m, now)))))
}

// least is the least wait for which enough holds; it then holds for all longer ones.
func least(enough func(d int64) bool) time.Duration {
	low, high := int64(0), int64(MaxFill)
	for low < high {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return time.Duration(low)
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func floor(x *big.Rat) int64 { return new(big.Int).Div(x.Num(), x.Denom()).Int64() }

func ceil(x *big.Rat) time.Duration { return time.Duration(-floor(new(big.Rat).Neg(x))) }
