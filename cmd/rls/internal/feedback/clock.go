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

// clock learns from one stream how the clock of its Envoy stands to ours, and how
// long entries wait there. The lag of an entry is the time from when it was
// written, on Envoy's clock, to its arrival, on ours: the difference of the
// clocks and the time it waited. The smallest lag of late has next to no wait.
type clock struct {
	least  int64 // smallest lag of this spell, in ns
	before int64 // of the one before
	since  time.Time
	delay  time.Duration // how long the oldest entries of messages have waited
}

// saw notes the smallest and the largest lag of a message, in ns.
func (c *clock) saw(now time.Time, smallest, largest int64) {
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

// skew is what is to be added to a time of Envoy's for ours, in ns.
func (c *clock) skew() int64 { return min(c.least, c.before) }
