package steer

import "github.com/eb50146d/rls/pkg/algorithms/adaptive"

// What a reporter that does not say how many requests began, as Envoy's access log
// does not, leaves open is taken from what rls let pass: it began so many as were
// admitted, times the share that such reporters ever see.

const (
	// learning is how many ticks with requests the share is looked for first. So long
	// it counts as 1, lest the unfinished of a slow start look complete.
	learning = 5
	// rise and fall are how much of the way to what a tick shows the share goes.
	rise, fall = 0.3, 0.05
	// leap is how many times the share so far a tick is believed to show.
	leap = 2
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
// than begins, and one whose queue drains a multiple of it. What one tick can teach is
// bounded, lest a single faulty report ruin the share for minutes.
func (c coverage) learn(completed, admitted float64, settled bool) coverage {
	if completed <= 0 || admitted <= 0 || !settled {
		return c
	}
	share := min(completed/admitted, max(1, leap*c.now()), greatestShare)
	switch {
	case c.Ticks < learning:
		c.Ticks++
		c.Share += (share - c.Share) / float64(c.Ticks) // their mean
	case share > c.Share:
		c.Share += rise * (share - c.Share)
	default:
		// What is above 1 is other traffic, or was a lie: it goes as quickly as it
		// came. Below, a target that hangs must not teach that it is seen less.
		whole := max(share, min(1, c.Share))
		c.Share += rise*(whole-c.Share) + fall*(share-whole)
	}
	return c
}

// Bounds of what reporters are believed that do not say how many requests began.
const (
	mostOf = 10  // times what rls let pass is the most that one of them completes
	likely = 1.5 // times the share so far is a share that can be
	nearly = 1.3 // times what rls let pass, too, which may have grown by that much in the second that they tell of
	idle   = 0.1 // of an even part of what they complete together is too little to vote
)

// least is the rate below which one of some reporters is idle, by what rls let pass.
func (c coverage) least(admitted float64, reporters int) float64 {
	return idle * admitted * min(1, c.now()) / float64(reporters)
}

// completed is how many requests a second reporters of these rates complete together.
// No minority moves the sum much: of three or more, each counts for as much as it does
// in adaptive.Merge. Idle ones do not vote on what the busy ones can have done.
// What they claim together stands where it can be, so that it does not depend on how
// the traffic is divided among them.
func completed(rates []float64, admitted float64, cover coverage) float64 {
	all := 0.0
	for _, r := range rates {
		all += r
	}
	if all <= min(likely*cover.now(), nearly)*admitted {
		return all
	}
	least := cover.least(admitted, len(rates))
	var busy []float64
	for _, r := range rates {
		if r >= least {
			busy = append(busy, r)
		}
	}
	most := min(adaptive.Fair(busy), mostOf*admitted)
	sum := 0.0
	for _, r := range rates {
		sum += min(r, most)
	}
	return sum
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
