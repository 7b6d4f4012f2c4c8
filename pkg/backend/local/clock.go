package local

import (
	"sync/atomic"
	"time"
)

// reanchor is how often the wall clock is asked whether it has gone ahead.
const reanchor = 10 * time.Second

// clock is the process' clock: the wall's time of the last anchor plus what has
// passed since by the monotonic clock. It follows the wall forward only, so that
// it never runs back.
type clock struct {
	start  time.Time    // carries the monotonic reading
	anchor atomic.Int64 // ns since the epoch at start, moved forward by reanchoring
	due    atomic.Int64 // ns after start of the next reanchoring
}

func newClock() *clock {
	c := &clock{start: time.Now()} //nolint:forbidigo // the clock that others are given
	c.anchor.Store(c.start.UnixNano())
	c.due.Store(int64(reanchor))
	return c
}

// now returns ns since the epoch.
func (c *clock) now() int64 {
	elapsed := int64(time.Since(c.start))
	if due := c.due.Load(); elapsed >= due && c.due.CompareAndSwap(due, elapsed+int64(reanchor)) {
		c.follow(time.Now().UnixNano() - elapsed) //nolint:forbidigo // the clock that others are given
	}
	return c.anchor.Load() + elapsed
}

// follow moves the anchor to wall, the wall's present idea of start, if that is later.
func (c *clock) follow(wall int64) {
	if wall > c.anchor.Load() {
		c.anchor.Store(wall)
	}
}
