package adaptive

import "math"

// patience is the number of ticks for which the latency of a slow service has
// to stay put to be its own, not a queue's; 0 where a queue has to be assumed.
//
// A service that answers all that it gets, although that is clearly less than
// what it has delivered, has no queue. The measure is the best rate delivered,
// not the limit before the cut, since a queue that stands still would pass by
// that. At the minimum there is no less to give it, and only time can tell: a
// rule whose baseline is too low must not stay there for ever.
func (r *run) patience() int {
	switch {
	case r.c.Threshold > 0 || !r.answering():
		return 0
	case r.s.Limit <= r.giveUp*r.s.Peak:
		return r.flatTicks
	case r.s.Limit <= r.c.MinLimit:
		return r.flatAtMin
	default:
		return 0
	}
}

// watch looks whether the latency stays put, and takes it for the baseline when
// it has for long enough. It is false when the latency rises, which calls for a
// cut, and when there is nothing to watch for.
func (r *run) watch() bool {
	patience := r.patience()
	if patience == 0 {
		return false
	}
	s := &r.s
	spread := 0.1 + 1.5/math.Sqrt(float64(max(1, r.t.Samples)))
	switch {
	case s.Flat == 0 || r.x < (1-spread)*s.Level: // still falling: a queue drains
		s.Level, s.Flat = r.x, 1
	case r.x > (1+spread)*s.Level:
		return false
	default:
		s.Flat++
		s.Level += (r.x - s.Level) / float64(s.Flat)
	}
	if s.Flat < patience {
		why := Watching
		if s.Drain > 0 {
			why = Draining
		}
		r.hold(why)
		return true
	}
	s.Baseline, s.Partial, s.Growth = s.Level, false, r.growMax/2
	r.goal = r.tolerance * s.Baseline
	r.healthy()
	s.Reason = NewNormal
	return true
}
