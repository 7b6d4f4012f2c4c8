package adaptive

import "testing"

// late is a tick after so many seconds.
func late(seconds float64, t Stats) Stats {
	t.Interval = seconds
	return t
}

// Time passes by the clock, not by ticks: for drains, cool-downs, silence and
// what is of late.
func TestLateTicks(t *testing.T) {
	t.Parallel()
	cut := times(1, failing())   // a drain of 6 s and a cool-down of 9 s
	mild := times(2, slow(0.05)) // a cool-down of 3 s
	tell(t, []story{
		{"a drain within one tick", nil, ticks(cut, times(1, late(6, silent()))), 144, Drained},
		{"a drain not quite over", nil, ticks(cut, times(1, late(5, silent()))), 50, Draining},
		{"ticks a little early", nil, ticks(cut, times(6, late(0.95, silent()))), 144, Drained},
		{"ticks a little late", nil, ticks(cut, times(6, late(1.05, silent()))), 144, Drained},
		{"and no sooner", nil, ticks(cut, times(5, late(1.05, silent()))), 50, Draining},
		{"no interval is a second", nil, ticks(cut, times(5, late(0, silent()))), 50, Draining},
		{"no interval is a second, all six", nil, ticks(cut, times(6, late(0, silent()))), 144, Drained},
		{"a cool-down within one tick", nil, ticks(mild, times(1, late(3, slow(0.05)))), 361, CutLatency},
		{"a cool-down not quite over", nil, ticks(mild, times(1, late(2, slow(0.05)))), 380, CoolingDown},
		{"blind within one tick", nil, ticks(mild, times(1, late(7, silent())), times(1, silent())), 360, CutBlind},
		{"a cut long ago within one tick", nil, ticks(mild, times(1, late(121, silent())), times(1, silent())), 380, NoReports},
	})
}
