package adaptive

// Step is one tick: the state after s, given what was seen since. It changes
// neither. Ticks are meant to come once a second; a late one says so by
// Interval.
func (c Config) Step(s State, t Stats) State {
	r := run{tuning: c.tuning, c: c, s: c.adopt(s), t: t.clean(), ticks: 1}
	r.moved = r.s.Limit != s.Limit
	r.s.SinceCut = min(longestTime, r.s.SinceCut+r.t.Interval)
	r.count()
	if float64(r.t.Samples) >= r.minSamples {
		r.s.Delivered = r.t.AdmittedThen * r.t.OKRatio
	}
	switch {
	case !r.usable():
		r.silence()
	case !r.gathered():
		r.wait(Gathering)
	default:
		r.judge()
	}
	return r.s
}

// run is a tick under way.
type run struct {
	tuning
	c     Config
	s     State // becoming the next
	t     Stats
	x     float64 // s, the steering quantile, smoothed
	goal  float64 // s, what x must not exceed
	slack float64 // s, by which it may, if it is to be a reason for a cut
	ticks int     // judged as one
	queue float64 // s, x less what is no queue: over the baseline, or over the threshold
	moved bool    // the limit has moved in this tick, and Reason says why
}

// span is how long what is judged took, in s.
func (r *run) span() float64 { return r.t.Interval * float64(r.ticks) }

// steering is the latency that the goal speaks of.
func (r *run) steering() float64 {
	if r.s.Quantile == tail99 {
		return r.t.P99
	}
	return r.t.P50
}

// timed says that there is a latency to judge by.
func (r *run) timed() bool { return r.t.P50 > 0 && r.steering() > 0 }

// failing says that there are too many errors.
func (r *run) failing() bool { return r.t.ErrorRatio > r.c.ErrorRatio }

func (r *run) mostlyErrors() bool { return r.t.ErrorRatio > 0.5 }

// reported says that anybody said anything usable. Errors need no latency:
// connections that are refused have none.
func (r *run) reported() bool { return r.timed() || r.failing() }

// usable says that it was enough to count, with what was gathered before. Without
// a latency a tick cannot be gathered, so it has to be enough by itself.
func (r *run) usable() bool {
	n := float64(r.t.Samples)
	if r.timed() {
		n += r.s.Gather.Samples
	}
	return r.reported() && n >= r.minSamples && (r.timed() || n >= r.enough || r.mostlyErrors())
}

// gathered takes the tick in, and is true when it is to be judged, alone or
// with those before it. A tick in which most answers are errors does not wait,
// and one without a latency stands alone.
func (r *run) gathered() bool {
	r.s.Silent, r.s.Unheard, r.s.Blind = 0, 0, false
	if !r.timed() {
		r.s.Gather = gather{}
		return true
	}
	r.s.Gather.add(&r.t)
	g := r.s.Gather
	if g.Samples < r.enough && g.Ticks < r.gatherMost && !r.mostlyErrors() {
		return false
	}
	r.t, r.s.Gather, r.ticks = g.stats(&r.t), gather{}, g.Ticks
	return true
}

// judge moves the limit by what was seen. A tick without a latency has errors
// enough to be hot, and teaches nothing about latency.
func (r *run) judge() {
	if r.timed() {
		r.smoothed()
		r.aim()
	}
	r.remember()
	r.countdown()
	if r.failing() || r.x > r.goal+r.slack {
		r.hot()
		return
	}
	r.healthy()
}

// smoothed lets a tick count the more the more samples it has.
func (r *run) smoothed() {
	n := float64(r.t.Samples)
	weight := n / (n + r.smoothing())
	r.s.Latency = toward(r.s.Latency, r.steering(), weight)
	r.s.Median = toward(r.s.Median, r.t.P50, weight)
	r.x = r.s.Latency
}

// toward is a share of the way from a figure to the next, which is the first if
// it is 0.
func toward(from, to, share float64) float64 {
	if from == 0 {
		return to
	}
	return from + float64(share*(to-from))
}

// aim sets the goal: the threshold, or a multiple of the baseline.
func (r *run) aim() {
	r.learn()
	base := r.c.Threshold
	r.goal = base
	if base <= 0 {
		base = r.s.Baseline
		r.goal = r.tolerance * base
	}
	r.queue = max(0, r.x-base)
	r.slack = r.spareTime()
}

// set moves the limit.
func (r *run) set(limit float64, why Reason) {
	r.s.Limit, r.s.Reason = r.c.clamp(limit), why
}

// hold leaves the limit. A reason for which it has moved in this very tick
// stands.
func (r *run) hold(why Reason) {
	if !r.moved {
		r.s.Reason = why
	}
}
