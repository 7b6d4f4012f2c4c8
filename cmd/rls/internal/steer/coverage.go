package steer

// What a reporter that does not say how many requests began, as Envoy's access log
// does not, leaves open is taken from what rls let pass: it began so many as were
// admitted, times the share that such reporters ever see.

const (
	// learning is how many ticks with requests the share is looked for first. So long
	// it counts as 1, lest the unfinished of a slow start look complete.
	learning = 5
	// rise and fall are how much of the way to what a tick shows the share goes.
	rise, fall = 0.3, 0.05
)

// coverage is completed requests over admitted ones, as learned.
type coverage struct {
	Ticks int     `json:"ticks"`
	Share float64 `json:"share"`
}

// now is the share to reckon with.
func (c coverage) now() float64 {
	if c.Ticks < learning || c.Share <= 0 {
		return 1
	}
	return c.Share
}

// learn takes in one tick, if it is settled: an overloaded target completes less
// than begins, and one whose queue drains a multiple of it.
func (c coverage) learn(completed, admitted float64, settled bool) coverage {
	if completed <= 0 || admitted <= 0 || !settled {
		return c
	}
	share := completed / admitted
	switch {
	case c.Ticks < learning:
		c.Share = max(c.Share, share)
		c.Ticks++
	case share > c.Share:
		c.Share += rise * (share - c.Share)
	default:
		c.Share += fall * (share - c.Share)
	}
	return c
}
