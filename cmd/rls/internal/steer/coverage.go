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
		c.Ticks++
		c.Share += (share - c.Share) / float64(c.Ticks) // their mean
	case share > c.Share:
		c.Share += rise * (share - c.Share)
	default:
		c.Share += fall * (share - c.Share)
	}
	return c
}

// greatestShare is the most that a share can be believed to be: targets get other
// traffic than that of rls, but not a thousand times as much.
const greatestShare = 1000

// sane is a coverage that was read, or none if no tick can have taught it.
func (c coverage) sane() coverage {
	if c.Ticks < 0 || c.Ticks > learning || !(c.Share >= 0 && c.Share <= greatestShare) {
		return coverage{}
	}
	return c
}
