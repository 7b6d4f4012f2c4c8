package algorithms

import "time"

// A store that counts in whole microseconds decides by the numbers of this file
// and hands its states back by the constructors, so that the formulas of a
// Decision are written once.

// MaxMicro is the last instant, in µs, at which a store whose numbers are doubles
// decides exactly: it and the longest fill time stay below 2^53. It is in 2155.
const MaxMicro = 1<<53 - int64(MaxFill)/microsecond - 2

// Micros is an exact time of Whole + Frac/L µs, L being a rule's Limit and
// 0 <= Frac < L.
type Micros struct{ Whole, Frac int64 }

// MicroStep is what hits cost under a rule of the TAT family.
type MicroStep struct {
	Cost  Micros // what a charge adds to the debt, or a refund takes off
	Slack Micros // the most debt beside which the hits fit; Whole -1: they never do
	Fill  Micros // the most debt that there can be
}

// MicroStep counts in µs what hits cost; 0 hits cost what one does.
func (r *Rule) MicroStep(hits int64) MicroStep {
	most := r.capacity + r.overdraft
	step := MicroStep{Fill: r.micros(most)}
	switch {
	case hits < 0:
		step.Cost = r.micros(given(hits, most))
	case hits > r.capacity:
		step.Cost, step.Slack = r.micros(min(hits, most)), Micros{Whole: -1}
	default:
		n := max(hits, 1)
		step.Cost, step.Slack = r.micros(n), r.patience(r.micros(r.capacity-n))
	}
	return step
}

func (r *Rule) micros(n int64) Micros {
	whole, frac := mulDiv(n, r.window/microsecond, r.limit)
	return Micros{whole, frac}
}

// patience is the lesser of slack and the longest delay of a queue.
func (r *Rule) patience(slack Micros) Micros {
	frac, _ := mulDiv(r.maxDelay%microsecond, r.limit, microsecond)
	longest := Micros{r.maxDelay / microsecond, frac}
	if longest.Whole < slack.Whole || longest.Whole == slack.Whole && longest.Frac < slack.Frac {
		return longest
	}
	return slack
}

// ArrivalState is the State of a TAT rule whose theoretical arrival time is
// whole + frac/limit µs, limit being that of the rule which wrote it.
func ArrivalState(whole, frac, limit int64) State {
	if frac == 0 {
		return State{whole * microsecond}
	}
	ns, rest := mulDiv(frac, microsecond, limit)
	return State{whole*microsecond + ns, rest, limit}
}

// WindowState is the State of a FixedWindow that began at start, in µs.
func WindowState(start, count int64) State { return State{start * microsecond, count} }

// CounterState is the State of a SlidingCounter of one bucket: the number of its
// newest sub-window since the epoch, the hits in it and in the one before.
func CounterState(index, newest, oldest int64) State { return State{index, newest, oldest} }

// NewCounts is the state of a SlidingCounter of more buckets, of which it keeps
// held: the hits in each sub-window, newest first.
func NewCounts(index int64, held []int64) Counts { return Counts{index, held} }

// FirstHit tells whether a FixedWindow starts with its first hit.
func (r *Rule) FirstHit() bool { return r.params.FirstHit }

// LogUsage is what a decision has to know of a log that is kept elsewhere.
type LogUsage struct {
	Live   int64 // hits in the window before the decision
	Due    int64 // instant of the hit that has to leave for the hits to fit, if they do not
	Newest int64 // instant of the newest hit that a refund leaves, or that is there before a charge
}

// DecideLogUsage is the Decision of DecideLog by what another store has read.
func (r *Rule) DecideLogUsage(u LogUsage, now, hits int64) Decision {
	r.mustKeep(InLog)
	now = instant(now)
	var d Decision
	charged, left := int64(0), u.Live
	switch n := max(hits, 1); {
	case hits < 0:
		left -= given(hits, u.Live)
	case n > r.limit:
		d.RetryAfter = Never
	case n > r.limit-u.Live:
		d.RetryAfter = time.Duration(u.Due + r.window - now)
	default:
		charged = max(hits, 0)
	}
	d.Allowed = d.RetryAfter == 0
	d.Remaining = max(0, r.limit-left-charged)
	switch {
	case charged > 0:
		d.ResetAfter = time.Duration(r.window)
	case left > 0:
		d.ResetAfter = time.Duration(u.Newest + r.window - now)
	}
	return d
}
