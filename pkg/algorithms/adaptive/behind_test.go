package adaptive

import (
	"math"
	"testing"
)

// answered is a tick in which a share of what was let in was answered.
func answered(share float64, t Stats) Stats {
	t.OKRatio = share
	return t
}

// lost is a tick in which most answers are errors.
func lost() Stats {
	t := failing()
	t.ErrorRatio = 0.51
	return t
}

// A service that answers less than it gets has a queue, whatever the latency of what
// it answers.
func TestFallingBehind(t *testing.T) {
	t.Parallel()
	mild := slow(0.05)
	fast := func(_ *Config, s *State) { s.Growth = 0.3 }
	tell(t, []story{
		{"slow, and a queue builds", nil, times(1, answered(0.74, slow(0.051))), 296 - (104*2+296*0.031)/2, CutOverload},
		{"slow, and it does not", nil, times(1, answered(0.75, slow(0.051))), 400, Confirming},
		{"not clearly slow", nil, times(1, answered(0.74, mild)), 400, Confirming},
		{"not clearly slow, of few answers", nil, times(1, from(50, answered(0.74, slow(0.185)))), 400, Confirming},
		{"clearly", nil, times(1, from(50, answered(0.74, slow(0.191)))), 296 - (104*2+296*0.171)/2, CutOverload},
		{"answers to what was let in before are not what it can deliver", nil, times(2, answered(1.5, mild)), 380, CutLatency},
		{"a slow tick", nil, times(1, answered(0.74, slow(0.06))), 296 - (104*2+296*0.04)/2, CutOverload},
		{"less slow, so that none builds", func(_ *Config, s *State) { s.Latency, s.Median = 0.06, 0.06 }, times(1, answered(0.74, slow(0.055))), 400, Confirming},
		{"well, and a queue builds", fast, times(1, answered(0.74, good())), 404, Growing},
		{"and builds on", fast, times(2, answered(0.74, good())), 404 * 1.01, Growing},
		{"well, and it does not", fast, times(1, answered(0.75, good())), 460, Growing},
	})
}

// A limit that was not cut enough is cut again in the cool-down, by what came after
// the cut.
func TestCutAnew(t *testing.T) {
	t.Parallel()
	drained := ticks(times(1, failing()), times(6, silent()))
	let := func(t Stats) Stats {
		t.Admitted, t.AdmittedThen = 144, 144
		return t
	}
	aged := func(seconds float64, t Stats) Stats {
		t.Age = seconds
		return t
	}
	behind := let(answered(0.5, slow(0.5)))
	tell(t, []story{
		{"drained", nil, drained, 144, Drained},
		{"a queue builds", nil, ticks(drained, times(1, behind)), 50, CutOverload},
		{"it does not", nil, ticks(drained, times(1, let(answered(0.75, slow(0.5))))), 144, CoolingDown},
		{"errors are those of before", nil, ticks(drained, times(1, edited(behind, func(t *Stats) { t.ErrorRatio = 0.06 }))), 144, CoolingDown},
		{"not too slow", func(c *Config, _ *State) { c.tuning.smooth = 0 }, ticks(drained, times(1, let(answered(0.5, good())))), 144, CoolingDown},
		{"some of it was before the cut", nil, ticks(drained, times(1, aged(6.1, behind))), 144, CoolingDown},
		{"all of it after", nil, ticks(drained, times(1, aged(6, behind))), 50, CutOverload},
		{"while it drains", nil, ticks(times(1, failing()), times(3, silent()), times(1, behind)), 50, Draining},
		{"gathered, some before the cut", nil, ticks(drained, times(3, aged(6.1, from(15, behind)))), 144, CoolingDown},
		{"gathered, all after", nil, ticks(drained, times(3, aged(6, from(15, behind)))), 50, CutOverload},
	})
}

// A drain goes on while most answers are errors, and the limit is halved each second.
func TestDrainLingers(t *testing.T) {
	t.Parallel()
	shallow := func(c *Config, _ *State) { c.MinLimit, c.tuning.drain = 1, 100 }
	tell(t, []story{
		{"that is over", nil, times(7, failing()), 144, Drained},
		{"not over", nil, times(7, lost()), 50, DrainingErrors},
		{"for long", nil, times(60, lost()), 50, DrainingErrors},
		{"above the minimum", shallow, times(9, lost()), (200 - 496.0/100) / 2, DrainingErrors},
		{"above the minimum, for longer", shallow, times(10, lost()), (200 - 496.0/100) / 4, DrainingErrors},
		{"over with half", nil, ticks(times(7, lost()), times(1, edited(lost(), func(t *Stats) { t.ErrorRatio = 0.5 }))), 180, Drained},
		{"over when all is well", nil, ticks(times(7, lost()), times(1, good())), 180, Drained},
		{"no more without reports", nil, ticks(times(7, lost()), times(1, silent())), 50, Draining},
		{"more with a few", nil, ticks(times(7, lost()), times(1, few(1))), 180, Drained},
		{"not with errors among them", nil, ticks(times(7, lost()), times(1, edited(few(9), func(t *Stats) { t.ErrorRatio = 0.3 }))), 50, Draining},
		{"nor then without reports", nil, ticks(times(7, lost()), times(1, edited(few(9), func(t *Stats) { t.ErrorRatio = 0.3 })), times(1, silent())), 50, Draining},
		{"but then with a few good ones", nil, ticks(times(7, lost()), times(1, edited(few(9), func(t *Stats) { t.ErrorRatio = 0.3 })), times(1, few(9))), 180, Drained},
		{"but among some more", nil, ticks(times(7, lost()), times(1, edited(few(10), func(t *Stats) { t.ErrorRatio = 0.3 }))), 180, Drained},
		{"nor later", nil, ticks(times(7, lost()), times(20, silent())), 50, NoReports},
		{"errors before it is over", nil, times(3, lost()), 50, Draining},
		{"few errors", nil, ticks(times(7, lost()), times(1, edited(few(9), func(t *Stats) { t.ErrorRatio = 0.6 }))), 50, DrainingErrors},
		{"the next is over by the clock", nil, ticks(times(7, lost()), times(4, good()), times(1, lost()), times(8, silent())), 0.92 * 200 / 2 * 0.9, Drained},
		{"without reports in time", nil, ticks(times(4, lost()), times(1, silent())), 180, Drained},
		{"then a cool-down", nil, ticks(times(7, lost()), times(2, failing())), 180, CoolingDown},
	})
}

// A limit that came far down grows faster.
func TestLongWayBack(t *testing.T) {
	t.Parallel()
	best := func(hits float64) func(*Config, *State) {
		return func(_ *Config, s *State) { s.Best = hits }
	}
	under := func(hits float64) func(*Config, *State) {
		return func(c *Config, s *State) {
			tail99of250(c, s)
			s.Best = hits
		}
	}
	faded := 414 * math.Exp(-1.0/3600)
	tell(t, []story{
		{"answers enough", best(1000), times(2, good()), 404 * 1.015, Growing},
		{"scarce answers", best(1000), times(2, from(50, good())), 404 * 1.02, Growing},
		{"just as far", best(576), times(2, from(50, good())), 404 * 1.02, Growing},
		{"not so far", best(560), times(2, from(50, good())), 404 * 1.015, Growing},
		{"a threshold", under(1000), times(2, tailed(0.02, 0.2)), 404 * 1.05, Growing},
		{"a threshold, not so far", under(560), times(2, tailed(0.02, 0.2)), 404 * 1.015, Growing},
		{"a threshold, scarce answers", under(1000), times(2, from(50, tailed(0.02, 0.2))), 404 * 1.05, Growing},
		{"care near the best", func(_ *Config, s *State) { s.Best, s.Growth = 450, 0.3 }, times(1, from(50, good())), faded, GrowingWithCare},
		{"none where answers are enough", func(_ *Config, s *State) { s.Best, s.Growth = 450, 0.3 }, times(1, from(100, good())), 460, Growing},
	})
}
