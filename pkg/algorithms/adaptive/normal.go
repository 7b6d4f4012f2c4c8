package adaptive

import "math"

// noQueue says that a slow service answers all that it gets, although it gets
// clearly less than it has delivered: no queue can be what makes it slow. The
// measure is the best rate delivered, not the limit before the cut, since a
// queue that stands still would pass by that.
func (r *run) noQueue() bool {
	return r.c.Threshold <= 0 && r.answering() && r.s.Limit <= r.giveUp*r.s.Peak
}

// watch looks whether the latency stays put, and takes it for the baseline when
// it has for long enough. It is false when the latency rises, which calls for a
// cut.
func (r *run) watch() bool {
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
	if s.Flat < r.flatTicks {
		why := Watching
		if s.Drain > 0 {
			why = Draining
		}
		r.hold(why)
		return true
	}
	s.Baseline, s.Growth = s.Level, r.growMax/2
	r.goal = r.tolerance * s.Baseline
	r.healthy()
	s.Reason = NewNormal
	return true
}
