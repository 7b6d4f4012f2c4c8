package adaptive

import "math"

// learn moves the latencies without a queue: the baseline, which is the median's,
// and that of the quantile that steers, which may be the same.
//
// The first answers of a service that takes longer than a tick are its quickest:
// a baseline of them is too low, and while the limit refuses anything it could not
// rise. So it is raised once, by the first tick in which all that was let in is
// answered and no cut is still to show: a service that is overloaded from the start
// comes to that tick when its queue is drained. It is not raised to the whole
// latency of that tick, since of a service so slow an overload shows late, and a
// goal of 1.6 times the latency shows it sooner than one of twice the latency.
func (r *run) learn() {
	s := &r.s
	whole := r.answering() && s.Cool == 0
	switch {
	case s.Baseline == 0:
		s.Partial = !whole
	case s.Partial && whole:
		s.Partial = false
		s.Baseline, s.Idle = max(s.Baseline, r.baseOnce*s.Median), max(s.Idle, r.baseOnce*r.x)
	}
	s.Baseline, s.Idle = r.learned(s.Baseline, s.Median), r.learned(s.Idle, r.x)
}

// learned is where a baseline goes from a latency: lower quickly, higher slowly, and
// higher only while the limit holds nothing back, since else it would follow its
// own queue.
func (r *run) learned(base, x float64) float64 {
	switch {
	case base == 0 || x < base:
		return toward(base, x, r.baseDown)
	case r.t.Denied == 0 && x <= r.tolerance*base && !r.failing():
		return toward(base, x, r.baseUp)
	default:
		return base
	}
}

// remember keeps the best rate at which the service has answered.
func (r *run) remember() {
	r.s.Best = max(r.s.Best*math.Exp(-r.span()/r.fade), r.t.AdmittedThen*min(1, r.t.OKRatio))
}
