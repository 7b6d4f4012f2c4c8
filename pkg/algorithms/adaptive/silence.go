package adaptive

import "math"

// silence is a tick without usable reports, or with too few samples.
func (r *run) silence() {
	s := &r.s
	why := NoReports
	if r.reported() {
		why = TooFew
	}
	r.wait(why)
	if r.timed() && r.t.Samples > 0 { // some more like it will do
		s.Gather.add(&r.t)
	} else {
		s.Gather.pause(r.t.Interval, r.blindAfter)
	}
	if !s.Blind && s.Unheard >= r.blindAfter {
		r.goBlind()
	}
	if r.t.Admitted > 0 { // where nothing is asked for there is nothing to report
		s.Unheard = min(longestTime, s.Unheard+r.t.Interval)
	}
	s.Silent = min(longestTime, s.Silent+r.t.Interval)
	r.drift()
}

// goBlind, once per silence, keeps clear of the edge: a limit that was cut of
// late may have grown back to it, and nothing would show that.
func (r *run) goBlind() {
	s := &r.s
	s.Blind = true
	if safe := r.c.clamp(r.resume * s.Mark); s.SinceCut <= r.blindRecent && safe < s.Limit {
		r.set(safe, CutBlind)
	}
}

// drift leads back to the start limit: soon and quickly from above, late and
// slowly from below, since a quick way up without reports can push a weak
// service over.
func (r *run) drift() {
	start := r.c.clamp(r.c.StartLimit)
	way := start - r.s.Limit
	hold, pace := r.holdHigh, r.driftDown
	if way > 0 {
		hold, pace = r.holdLow, r.driftUp
	}
	switch {
	case way == 0 || r.s.Silent <= hold:
	case math.Abs(way) <= 1e-9*start: // as good as there
		r.set(start, Drifting)
	default:
		r.set(r.s.Limit+way*(1-math.Exp(-r.t.Interval/pace)), Drifting)
	}
}
