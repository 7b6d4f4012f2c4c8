package adaptive

import "math"

// drainAt begins a drain: the limit goes below the rate that was delivered, for
// as long as the queue in the service takes to empty.
func (r *run) drainAt(rate float64) float64 {
	got := r.delivered(rate)
	backlog := float64(max(0, r.t.Admitted-got)*(1+r.t.Age)) + float64(got*r.queue)
	low := max(r.c.MinLimit, got-backlog/r.drain)
	length := math.Ceil(backlog / max(got-low, 0.1*got, 1))
	r.s.Drain = max(1, min(r.drainMost, length))
	r.s.Cool += r.s.Drain
	r.s.Resume, r.s.Mark, r.s.Full = r.resumed()*got, got, false
	return low
}

// delivered is how much of a rate, that of the limit or of what was let in, the
// service answered well. It is never 0, which would leave nothing to go on with.
func (r *run) delivered(rate float64) float64 {
	least, got := rate*(1-r.cutMax), r.t.AdmittedThen*r.t.OKRatio
	switch {
	case r.mostlyErrors(): // what was delivered says nothing
		return least
	case got == 0: // nor is it known: the ratio is all there is to go by
		return max(least, min(rate, rate*r.t.OKRatio))
	default:
		return min(rate, got)
	}
}

// countdown lets the tick's time pass for a cool-down and a drain. The limit
// goes up when the drain is over, unless most answers are errors still: then the
// queue was longer than reckoned, since answers that nobody waits for tell of no
// more than the deadline, or the limit too high for it to become shorter. From then
// on silence is no reason for more, and a few answers with errors among them tell
// nothing yet.
func (r *run) countdown() {
	r.s.Cool = left(r.s.Cool, r.t.Interval)
	if r.s.Drain == 0 {
		return
	}
	r.s.Drain = left(r.s.Drain, r.t.Interval)
	switch {
	case r.s.Drain > 0:
	case r.linger > 0 && r.mostlyErrors():
		r.s.Limit = r.c.clamp(r.s.Limit * (1 - r.cutMax))
		r.s.Drain = r.linger
		r.s.Cool = max(r.s.Cool, 1+math.Ceil(r.t.Age)+r.linger)
		r.s.Full = true
	case r.s.Full && !r.timed():
	case r.s.Full && !r.usable() && r.failing():
		r.s.Drain = r.linger
	default:
		r.set(r.s.Resume, Drained)
		r.moved = true
	}
}

// draining says why the limit is low.
func (r *run) draining() Reason {
	if r.s.Full && r.mostlyErrors() {
		return DrainingErrors
	}
	return Draining
}

// left is the time left after a tick, and 0 once the next tick would be
// further from the end than this one: ticks are not quite punctual.
func left(seconds, tick float64) float64 {
	if seconds -= tick; seconds < 0.5 {
		return 0
	}
	return seconds
}

// wait is a tick that says nothing. A drain is run by the clock, not by
// reports; a cool-down waits for reports.
func (r *run) wait(why Reason) {
	if r.s.Drain > 0 {
		r.countdown()
		why = r.draining()
	}
	r.hold(why)
}
