package feedback

import (
	"testing"
	"time"
)

// TestDelay is up at once with what a message waited, and down slowly.
func TestDelay(t *testing.T) {
	t.Parallel()
	var c clock
	now := epoch()
	saw := func(smallest, largest, want time.Duration) {
		t.Helper()
		now = now.Add(time.Second)
		c.saw(now, int64(smallest), int64(largest))
		if got := c.delay.Round(time.Millisecond); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	const ms = time.Millisecond
	saw(5*ms, 305*ms, 913*ms) // a second at first
	saw(5*ms, 2005*ms, 2000*ms)
	saw(5*ms, 1005*ms, 1875*ms)
	saw(5*ms, time.Hour, 3000*ms)
	for range 100 {
		saw(5*ms, 5*ms, max(leastDelay, c.delay-c.delay/8).Round(ms))
	}
	saw(5*ms, 5*ms, 100*ms)
}

// TestSkewForgotten: the smallest lag counts for half a minute at least, and for
// a minute at most.
func TestSkewForgotten(t *testing.T) {
	t.Parallel()
	var c clock
	for _, step := range []struct{ at, lag, want time.Duration }{
		{0, 7, 7},
		{1 * time.Second, 5, 5},
		{29 * time.Second, 9, 5},
		{30 * time.Second, 9, 5},
		{59 * time.Second, 8, 5},
		{60 * time.Second, 9, 8},
		{89 * time.Second, 9, 8},
		{200 * time.Second, 20, 20},
		{201 * time.Second, -20, -20},
	} {
		c.saw(epoch().Add(step.at), int64(step.lag), int64(step.lag))
		if got := time.Duration(c.skew()); got != step.want {
			t.Errorf("at %v: %v, want %v", step.at, got, step.want)
		}
	}
}
