package algorithms

import "time"

// span is an exact time of ns + frac/L nanoseconds, L being the limit of the
// rule that made it and 0 <= frac < L. So W/L needs no rounding.
type span struct{ ns, frac int64 }

// ceilDiff is a - b in ns, rounded up. It is positive iff a > b.
func ceilDiff(a, b span) int64 {
	if a.frac > b.frac {
		return a.ns - b.ns + 1
	}
	return a.ns - b.ns
}

func (r *Rule) plus(a, b span) span {
	sum := span{a.ns + b.ns, a.frac + b.frac}
	if sum.frac >= r.limit {
		sum = span{sum.ns + 1, sum.frac - r.limit}
	}
	return sum
}

func (r *Rule) minus(a, b span) span {
	diff := span{a.ns - b.ns, a.frac - b.frac}
	if diff.frac < 0 {
		diff = span{diff.ns - 1, diff.frac + r.limit}
	}
	return diff
}

// cost is n*T, for n up to B+N.
func (r *Rule) cost(n int64) span {
	ns, frac := mulDiv(n, r.window, r.limit)
	return span{ns, frac}
}

// decideTAT works on a key's debt: how far its theoretical arrival time lies
// ahead of now. One hit costs T; debt drains as time passes.
func (r *Rule) decideTAT(s State, now, hits int64) (State, Decision) {
	debt, healed := r.debt(s, now)
	if healed {
		s = r.owing(debt, now)
	}
	if hits < 0 {
		debt = r.refunded(debt, hits)
		return r.owing(debt, now), r.standing(debt, 0)
	}
	n := max(hits, 1)
	wait := r.wait(debt, n)
	before := debt
	switch {
	case hits == 0:
	case wait == 0:
		debt = r.charged(debt, n)
		s = r.owing(debt, now)
	case r.overdraft > 0:
		debt = r.charged(debt, min(n, r.capacity+r.overdraft))
		s = r.owing(debt, now)
		wait = r.wait(debt, n)
	}
	d := r.standing(debt, wait)
	if r.params.Kind == LeakyQueue && d.Allowed && hits > 0 {
		d.Delay = time.Duration(ceilDiff(before, span{}))
	}
	return s, d
}

// debt reads s at now; the zero State is an arrival at the epoch. A fraction over
// another rule's limit is rounded up to a whole microsecond, since that is what
// every store can hold. A debt above the fill time is healed: the clock has
// stepped back.
func (r *Rule) debt(s State, now int64) (debt span, healed bool) {
	tat, frac, limit := s[0], s[1], s[2]
	if limit != r.limit {
		tat, frac = ceilMicrosecond(tat, frac), 0
	}
	if tat < now {
		return span{}, false
	}
	debt = span{tat - now, frac}
	if ceilDiff(debt, r.fill) > 0 {
		return r.fill, true
	}
	return debt, false
}

func ceilMicrosecond(tat, frac int64) int64 {
	if frac > 0 {
		tat++
	}
	return (tat + microsecond - 1) / microsecond * microsecond
}

// owing is the state of a key that has a debt at now.
func (r *Rule) owing(debt span, now int64) State {
	if debt == (span{}) {
		return State{}
	}
	return State{now + debt.ns, debt.frac, r.limit}
}

func (r *Rule) charged(debt span, n int64) span {
	cost := r.emission
	if n > 1 {
		cost = r.cost(n)
	}
	debt = r.plus(debt, cost)
	if ceilDiff(debt, r.fill) > 0 {
		return r.fill
	}
	return debt
}

func (r *Rule) refunded(debt span, hits int64) span {
	cost := r.cost(given(hits, r.capacity+r.overdraft))
	if ceilDiff(debt, cost) <= 0 {
		return span{}
	}
	return r.minus(debt, cost)
}

// wait is how long n > 0 hits have to wait for the debt to drain, in ns.
func (r *Rule) wait(debt span, n int64) time.Duration {
	if n > r.capacity {
		return Never
	}
	slack := r.slack
	if n > 1 {
		slack = r.cost(r.capacity - n)
	}
	queued := ceilDiff(debt, span{}) - r.maxDelay
	return time.Duration(max(0, ceilDiff(debt, slack), queued))
}

// standing is the decision that leaves debt.
func (r *Rule) standing(debt span, wait time.Duration) Decision {
	d := Decision{
		Allowed:    wait == 0,
		RetryAfter: wait,
		ResetAfter: time.Duration(ceilDiff(debt, span{})),
	}
	if ceilDiff(r.full, debt) > 0 && int64(d.ResetAfter) <= r.maxDelay {
		free := r.minus(r.full, debt)
		d.Remaining, _ = mulAddDiv(free.ns, r.limit, free.frac, r.window)
	}
	return d
}
