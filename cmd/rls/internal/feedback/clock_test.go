package feedback

import (
	"slices"
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

// TestStep: a clock that was set back is believed after five messages in a row that
// agree, over two seconds; entries that had to wait are not taken for that.
func TestStep(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type message struct{ after, smallest, largest time.Duration }
	steady := func(n int, after, lag time.Duration) (all []message) {
		for range n {
			all = append(all, message{after, lag, lag + 300*ms})
		}
		return all
	}
	for _, row := range []struct {
		name        string
		messages    []message
		skew, delay time.Duration // 0: not looked at
	}{
		{"enough of them", steady(5, 500*ms, time.Hour), time.Hour, 300 * ms},
		{"too few", steady(4, 700*ms, time.Hour), 5 * ms, greatestLag},
		{"not for long enough", steady(9, 249*ms, time.Hour), 5 * ms, greatestLag},
		{"many over just long enough", steady(9, 250*ms, time.Hour), time.Hour, 300 * ms},
		{"longer by little", steady(9, 500*ms, 505*ms), 5 * ms, 0},
		{"longer by more", steady(9, 500*ms, 506*ms), 506 * ms, 0},
		{"shorter", steady(1, 500*ms, -time.Hour), -time.Hour, 0},
		{
			"unequal", []message{
				{500 * ms, 1000 * ms, 0}, {500 * ms, 1251 * ms, 0}, {500 * ms, 1000 * ms, 0}, {500 * ms, 1251 * ms, 0}, {500 * ms, 1000 * ms, 0}, {500 * ms, 1251 * ms, 0},
			}, 5 * ms, 0,
		},
		{
			"equal enough", []message{
				{500 * ms, 1250 * ms, 1250 * ms}, {500 * ms, 1000 * ms, 1800 * ms}, {500 * ms, 1250 * ms, 1250 * ms}, {500 * ms, 1250 * ms, 1250 * ms}, {500 * ms, 1250 * ms, 1250 * ms},
			}, 1000 * ms, 731250 * time.Microsecond, // an eighth of the way to what the last one waited
		},
		{"a short one between", slices.Concat(steady(4, 500*ms, time.Hour), steady(1, 500*ms, 5*ms), steady(4, 500*ms, time.Hour)), 5 * ms, greatestLag},
		{"without a wait", []message{{0, time.Hour, time.Hour}, {ms, time.Hour, time.Hour}, {0, time.Hour, time.Hour}, {0, time.Hour, time.Hour}, {2 * time.Second, time.Hour, time.Hour}}, time.Hour, leastDelay},
		{"twice", slices.Concat(steady(5, 500*ms, time.Hour), steady(5, 500*ms, 2*time.Hour)), 2 * time.Hour, 300 * ms},
		{"what held back comes at once", []message{{3 * time.Second, 3000 * ms, 3200 * ms}, {0, 2800 * ms, 3000 * ms}, {0, 2600 * ms, 2800 * ms}, {0, 2400 * ms, 2600 * ms}, {0, 2200 * ms, 2400 * ms}}, 5 * ms, 0},
	} {
		var c clock
		now := epoch()
		c.saw(now, int64(5*ms), int64(5*ms))
		for _, m := range row.messages {
			now = now.Add(m.after)
			c.saw(now, int64(m.smallest), int64(max(m.smallest, m.largest)))
		}
		if got := time.Duration(c.skew()); got != row.skew {
			t.Errorf("%s: skew %v, want %v", row.name, got, row.skew)
		}
		if row.delay != 0 && c.delay != row.delay {
			t.Errorf("%s: delay %v, want %v", row.name, c.delay, row.delay)
		}
	}
}
