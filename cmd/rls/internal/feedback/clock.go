package feedback

import (
	"math"
	"time"
)

// spell is for how long at least, and twice that at most, a lag is remembered.
const spell = 30 * time.Second

// Bounds of how long entries are awaited, and what is taken for it at first:
// Envoy's buffer_flush_interval where it is not set.
const (
	leastDelay  = 100 * time.Millisecond
	firstDelay  = time.Second
	greatestLag = 3 * time.Second
)

// A clock that was set makes all lags longer at once. It is believed when so many
// messages in a row, over so long, have smallest lags that exceed what was known and
// differ little; entries that had to wait differ more. While it is not believed what
// is logged now looks as old as the clock was set.
const (
	stepMessages = 5
	stepTime     = 2 * time.Second
	stepExcess   = 500 * time.Millisecond
	stepSpread   = 250 * time.Millisecond
)

// clock learns from one stream how the clock of its Envoy stands to ours, and how
// long entries wait there. The lag of an entry is the time from when it was
// written, on Envoy's clock, to its arrival, on ours: the difference of the
// clocks and the time it waited. The smallest lag of late has next to no wait.
type clock struct {
	least  int64 // smallest lag of this spell, in ns
	before int64 // of the one before
	since  time.Time
	delay  time.Duration // how long the oldest entries of messages have waited
	step   step
}

// step is a run of messages with longer lags than were known.
type step struct {
	messages int
	since    time.Time
	low      int64 // smallest of the smallest lags, in ns
	high     int64 // largest of them
	most     int64 // largest of the largest
}

// saw notes the smallest and the largest lag of a message, in ns.
func (c *clock) saw(now time.Time, smallest, largest int64) {
	if c.stepped(now, smallest, largest) {
		*c = clock{least: c.step.low, before: math.MaxInt64, since: now, delay: min(max(time.Duration(c.step.most-c.step.low), leastDelay), greatestLag)}
	}
	switch age := now.Sub(c.since); {
	case c.since.IsZero():
		*c = clock{least: smallest, before: math.MaxInt64, since: now, delay: firstDelay}
	case age >= 2*spell:
		c.least, c.before, c.since = smallest, math.MaxInt64, now
	case age >= spell:
		c.least, c.before, c.since = smallest, c.least, now
	default:
		c.least = min(c.least, smallest)
	}
	wait := min(time.Duration(largest-c.skew()), greatestLag)
	// Up at once, down slowly: one quick message must not close the interval that
	// the next one belongs to.
	c.delay = max(wait, c.delay-(c.delay-wait)/8, leastDelay)
}

// stepped says whether the clock was set back, or ours forward. That one was set the
// other way is seen at once, by the smallest lag.
func (c *clock) stepped(now time.Time, smallest, largest int64) bool {
	s := &c.step
	low, high := min(s.low, smallest), max(s.high, smallest)
	switch {
	case c.since.IsZero(), smallest-c.skew() <= int64(stepExcess):
		*s = step{}
		return false
	case s.messages == 0, high-low > int64(stepSpread):
		*s = step{messages: 1, since: now, low: smallest, high: smallest, most: largest}
		return false
	}
	*s = step{messages: s.messages + 1, since: s.since, low: low, high: high, most: max(s.most, largest)}
	return s.messages >= stepMessages && now.Sub(s.since) >= stepTime
}

// skew is what is to be added to a time of Envoy's for ours, in ns.
func (c *clock) skew() int64 { return min(c.least, c.before) }
