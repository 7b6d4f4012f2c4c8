package adaptive

// guided says that the median has its say in how a limit under a threshold grows
// and is cut. The tail that a threshold speaks of is flat up to some 95 % of the
// load, and then a wall: it tells of a queue when that is there. The median
// rises before.
func (c *Config) guided() bool { return c.Threshold > 0 && c.tuning.easy > 0 }

// headroom is how far the latency is below its goal: 0 there, 0.5 without a queue.
// What a threshold leaves above the latency without a queue may be little of it,
// and all of it is room.
func (r *run) headroom() float64 {
	base, goal := r.goal/2, r.goal
	if r.c.guided() {
		goal *= r.spare
		base = min(r.s.Idle, 0.95*goal)
	}
	return max(0, (goal-r.x)/(goal-base)/2)
}

// calm says that growth may be fast.
func (r *run) calm() bool {
	return !r.c.guided() || r.s.Median <= r.easy*r.s.Baseline
}

// growthMost is the share that growth adds at most. A limit that a threshold has
// kept at the minimum has a long way back.
func (c *Config) growthMost() float64 {
	if c.guided() {
		return c.tuning.growUp
	}
	return c.tuning.growMax
}

// careful are the rates near which the limit grows with care: what was delivered at
// the last cut, and the best rate as well where growth is fast below it: that cut
// may have been made near the minimum.
func (r *run) careful() [2]float64 {
	marks := [2]float64{r.near * r.s.Mark}
	if r.c.guided() || r.far > 0 && r.scarcity() > 0 {
		marks[1] = r.near * r.s.Best
	}
	return marks
}

// queued says, at the first cut since the service was well, that the median tells
// of a queue. That is drained, whatever the threshold's own latency asks for.
func (r *run) queued() bool {
	return r.c.guided() && !r.s.Cut && r.s.Median > r.tolerance*r.s.Baseline
}
