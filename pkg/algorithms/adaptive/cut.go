package adaptive

import "math"

// hot is a tick with the latency or the errors above the goal.
func (r *run) hot() {
	severe := r.failing() || r.x > r.severe*r.goal+r.slack || r.fallsBehind() && r.steering() > r.sure*r.goal+r.slack
	r.s.Growth = r.growMin
	r.s.Hot = min(r.confirm, r.s.Hot+1)
	r.s.Peak = max(r.s.Peak, r.t.AdmittedThen*min(1, r.t.OKRatio))
	if r.watch() {
		return
	}
	r.s.Level, r.s.Flat = 0, 0
	cooling := r.s.Cool > 0 && !r.cutAnew(severe)
	switch {
	case cooling && r.s.Drain > 0:
		r.hold(r.draining())
	case cooling && r.s.Limit <= r.c.MinLimit:
		r.hold(AtMin)
	case cooling:
		r.hold(CoolingDown)
	case r.s.Hot < r.confirm && !severe:
		r.hold(Confirming)
	default:
		r.cut(severe)
	}
}

// cutAnew says that a tick ends a cool-down: a severe one that of a mild cut, and
// that of any cut when it shows that a queue builds under the limit that was cut,
// so that it was not cut enough. Errors do not show that: they may be those of the
// queue that was there.
func (r *run) cutAnew(severe bool) bool {
	if !severe || r.s.Mild {
		return severe
	}
	later := r.s.SinceCut >= r.span()+r.t.Age // all that is judged came after the cut
	return r.s.Drain == 0 && later && r.fallsBehind() && !r.failing()
}

// fallsBehind says that so little of what was let in is answered that a queue
// builds, which the latency of what is answered shows later. A latency that falls
// says that none does, and that the share is wrong: there are reporters whose
// share of the requests can only be guessed.
func (r *run) fallsBehind() bool { return r.t.OKRatio < r.behind && r.steering() >= r.x }

// answering says that all that was let in is answered, and well.
func (r *run) answering() bool {
	return !r.failing() && r.t.OKRatio >= 0.9
}

// cut lowers the limit, and sets the time after which that shows.
func (r *run) cut(severe bool) {
	rate := r.s.Limit
	if r.t.AdmittedThen > 0 {
		rate = min(rate, r.t.AdmittedThen)
	}
	queued := r.queued()
	if queued {
		severe, r.queue = true, max(r.queue, r.s.Median-r.s.Baseline)
	}
	r.s.Cut = true
	lag := 1 + math.Ceil(r.t.Age)
	r.s.Cool, r.s.Mild, r.s.SinceCut, r.s.Mark = lag+r.settle, !severe, 0, rate
	switch {
	case r.c.Threshold > 0 && r.answering() && !queued: // a drain would find nothing to drain
		r.lower(rate*max(1-r.cutMax, min(1-r.cutMin, r.goal/r.x)), CutLatency)
	case !severe:
		r.lower(rate*(1-r.cutMin), CutLatency)
	case r.failing():
		r.lower(r.drainAt(rate), CutErrors)
	default:
		r.lower(r.drainAt(rate), CutOverload)
	}
}

// lower sets a limit that a cut came to.
func (r *run) lower(limit float64, why Reason) {
	if r.s.Limit <= r.c.MinLimit {
		r.hold(AtMin)
		return
	}
	r.set(limit, why)
}
