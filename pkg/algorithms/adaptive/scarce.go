package adaptive

// What is different below some 100 answers/s. There the median of a tick is off
// by a fifth or more, and as far again when a few requests meet by chance.

// count keeps the rate at which answers are reported.
func (r *run) count() {
	const share = 0.1 // slow, so that a drain does not make answers scarce
	if r.timed() && r.t.Samples > 0 {
		r.s.Answers = toward(r.s.Answers, min(mostSamples, float64(r.t.Samples)/r.t.Interval), share)
	}
}

// scarcity is how scarce answers are: 0 from r.scarce a second on, 1 from half of
// that down.
func (r *run) scarcity() float64 {
	if r.s.Answers == 0 {
		return 0
	}
	return max(0, min(1, 2*(1-r.s.Answers/r.scarce)))
}

// smoothing is the number of samples that weigh as much as the latency so far.
// Where answers are scarce, ticks are gathered, and smoothing what was gathered
// would double the time until anything shows. A tail of a single tick needs it: of
// 40 answers it is their maximum.
func (r *run) smoothing() float64 {
	if r.ticks == 1 && r.s.Quantile == tail99 {
		return r.smooth
	}
	return r.smooth * (1 - r.scarcity())
}

// spareTime is the latency above the goal that is no reason for a cut yet: a
// request waits 1/rate longer for each one before it, and at a low rate a few that
// wait are chance, not overload. It is no reason to grow either. A threshold is
// absolute.
func (r *run) spareTime() float64 {
	if r.c.Threshold > 0 || r.s.Answers == 0 {
		return 0
	}
	return r.waiting * r.scarcity() / r.s.Answers
}

// resumed is the share of the delivered rate to go on with after a drain: all of
// it where answers are scarce, since there noise makes cuts that nothing called
// for.
func (r *run) resumed() float64 {
	return r.resume + float64((1-r.resume)*r.scarcity())
}

// steps is the number of times that growth is due: where answers are scarce, once
// for each tick that was gathered.
func (r *run) steps() int {
	if r.scarcity() == 0 {
		return 1
	}
	return r.ticks
}
