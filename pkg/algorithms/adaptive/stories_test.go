package adaptive

import "math"

// good is a tick of a service that is well and could have more.
func good() Stats {
	return Stats{
		Samples: 500, P50: 0.02, P99: 0.02, OKRatio: 1,
		Admitted: 400, Denied: 100, AdmittedThen: 400, Age: 1, Interval: 1,
	}
}

// slow is good at another latency.
func slow(seconds float64) Stats {
	t := good()
	t.P50, t.P99 = seconds, seconds
	return t
}

// failing is a tick with an overloaded service: it answers 160 of 400 well.
func failing() Stats {
	t := slow(0.5)
	t.ErrorRatio, t.OKRatio = 0.3, 0.4
	return t
}

// slowAtMin is a service that answers all of 50/s, more slowly than it used to.
func slowAtMin() Stats {
	t := slow(0.05)
	t.Admitted, t.AdmittedThen = 50, 50
	return t
}

// spoiled is good but for errors, beside as many good answers as were asked for.
func spoiled() Stats {
	t := good()
	t.ErrorRatio = 0.06
	return t
}

// fresh is a tick whose reports are 0.2 s old.
func fresh(t Stats) Stats {
	t.Age = 0.2
	return t
}

func edited(t Stats, edit func(*Stats)) Stats {
	edit(&t)
	return t
}

// few is good, from n samples.
func few(n uint64) Stats {
	t := good()
	t.Samples = n
	return t
}

func silent() Stats {
	t := good()
	t.Samples, t.P50, t.P99, t.OKRatio = 0, 0, 0, 0
	return t
}

// idle is a tick in which nothing was asked for.
func idle() Stats {
	t := silent()
	t.Admitted, t.AdmittedThen, t.Denied = 0, 0, 0
	return t
}

// unused is good with little demand.
func unused() Stats {
	t := good()
	t.Admitted, t.AdmittedThen, t.Denied = 100, 100, 0
	return t
}

func times(n int, t Stats) []Stats {
	all := make([]Stats, n)
	for i := range all {
		all[i] = t
	}
	return all
}

func ticks(parts ...[]Stats) []Stats {
	var all []Stats
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// A story is what happens to a rule of 50 to 2000 hits/s that starts at 400
// with a baseline of 20 ms, and how the last tick left it.
type story struct {
	name  string
	edit  func(c *Config, s *State) // nil: as it is
	ticks []Stats
	limit float64
	why   Reason
}

func stories() []story {
	mild := slow(0.05) // above the goal of 40 ms, not above 60 ms
	limit := func(hits float64) func(*Config, *State) {
		return func(_ *Config, s *State) { s.Limit = hits }
	}
	threshold := func(c *Config, s *State) {
		c.Quantile, c.Threshold = tail99, 0.25
		*s = c.Start()
	}
	unsmoothed := func(c *Config, _ *State) { c.tuning.smooth = 0 }
	return []story{
		{"no tick", nil, nil, 400, Starting},
		{"max_limit lowered", func(c *Config, _ *State) { c.MaxLimit = 300 }, ticks(times(1, unused())), 300, Bounded},
		{"min_limit raised", func(c *Config, _ *State) { c.MinLimit = 500 }, ticks(times(1, unused())), 500, Bounded},

		{"a quantile without a threshold", func(c *Config, _ *State) { c.Quantile = tail99 }, times(1, edited(good(), func(t *Stats) { t.P99 = 9 })), 404, Growing},
		{"room", nil, times(1, good()), 404, Growing},
		{"more room", nil, times(2, good()), 404 * 1.015, Growing},
		{"up to the maximum", limit(1999), times(1, good()), 2000, Growing},
		{"no more", limit(2000), times(1, good()), 2000, AtMax},
		{"little room", nil, times(1, slow(0.035)), 400 * (1 + 0.02*2*0.125/2), Growing},
		{"70 % used", nil, times(1, Stats{Samples: 500, P50: 0.02, P99: 0.02, OKRatio: 1, Admitted: 280, AdmittedThen: 280}), 408, Growing},
		{"less used", nil, times(1, Stats{Samples: 500, P50: 0.02, P99: 0.02, OKRatio: 1, Admitted: 279, AdmittedThen: 279}), 400, NotInUse},
		{"not used", nil, times(1, unused()), 400, NotInUse},
		{"at the threshold", threshold, times(1, slow(0.25)), 400, AtGoal},
		{"below the threshold", threshold, times(1, slow(0.125)), 404, Growing},
		{"back where it hurt", func(_ *Config, s *State) { s.Mark, s.Growth = 450, 0.3 }, times(1, good()), 414, GrowingWithCare},
		{"from where it hurt", func(_ *Config, s *State) { s.Mark, s.Growth = 450, 0.3 }, times(2, good()), 414 * 1.01, Growing},

		{"slow once", nil, times(1, mild), 400, Confirming},
		{"slow twice", nil, times(2, mild), 380, CutLatency},
		{"slow thrice", nil, times(3, mild), 380, CoolingDown},
		{"well soon after a cut", nil, ticks(times(2, mild), times(1, good())), 380, CoolingDown},
		{"in a cool-down, reports quick", nil, ticks(times(2, fresh(mild)), times(2, fresh(mild))), 380, CoolingDown},
		{"after it", nil, ticks(times(2, fresh(mild)), times(3, fresh(mild))), 361, CutLatency},
		{"slow for long", nil, times(5, mild), 361, CutLatency},
		{"less let in than the limit", limit(1000), times(2, mild), 380, CutLatency},
		{"far too slow in a mild cool-down", nil, ticks(times(2, mild), times(1, slow(0.5))), 380 - (20*2+380*(0.05+500.0/560*0.45-0.02))/2, CutOverload},
		{"too slow by the threshold", threshold, times(2, slow(0.3)), 400 * 0.25 / 0.3, CutLatency},
		{"hardly too slow by the threshold", threshold, times(2, slow(0.255)), 380, CutLatency},
		{"far too slow by the threshold", threshold, times(1, slow(2)), 200, CutLatency},
		{"a queue by the threshold", threshold, times(2, Stats{
			Samples: 500, P50: 0.3, P99: 0.3, OKRatio: 0.8, Admitted: 400, AdmittedThen: 400, Age: 1,
		}), 380, CutLatency},
		{"far too slow", nil, times(1, slow(0.1)), 400 - 400*0.08/2, CutOverload},
		{"errors", nil, times(1, failing()), 50, CutErrors},
		{"errors alone", nil, times(1, Stats{
			Samples: 500, P50: 0.02, P99: 0.02, ErrorRatio: 0.06, OKRatio: 0.94, Admitted: 400, AdmittedThen: 400, Age: 1,
		}), 376 - 24, CutErrors},
		{"errors mostly, from few", nil, times(1, Stats{
			Samples: 10, P50: 0.02, P99: 0.02, ErrorRatio: 0.51, OKRatio: 0.9, Admitted: 200, AdmittedThen: 400, Age: 1,
		}), 200, CutErrors},
		{"errors beside enough answers", nil, times(1, spoiled()), 400, CutErrors},
		{"for long", nil, times(2, spoiled()), 360, Drained},
		{"a queue of one, at a low rate", func(c *Config, s *State) { c.MinLimit, s.Limit = 0.01, 2 }, ticks(times(1, edited(slow(0.52), func(t *Stats) {
			t.Samples, t.Admitted, t.AdmittedThen = 1e9, 2, 2
		})), times(1, silent())), 1.8, Drained},
		{"errors at the minimum", limit(50), times(1, failing()), 50, AtMin},

		{"while the queue drains", nil, times(2, failing()), 50, Draining},
		{"a drain without reports", nil, ticks(times(1, failing()), times(1, silent())), 50, Draining},
		{"a drain with few samples", nil, ticks(times(1, failing()), times(1, few(20))), 50, Draining},
		{"a drain, answers come", nil, ticks(times(1, failing()), times(1, slow(0.2))), 50, Draining},
		{"a drain that is over", nil, ticks(times(1, failing()), times(6, silent())), 144, Drained},
		{"and not before", nil, ticks(times(1, failing()), times(5, silent())), 50, Draining},
		{"over while failing", nil, times(7, failing()), 144, Drained},
		{"over with few samples", nil, ticks(times(1, failing()), times(6, few(20))), 144, Drained},
		{"well again before", nil, ticks(times(1, failing()), times(2, slow(0.001))), 144, Drained},

		{"well again before, at more than there is to resume", nil, ticks(times(1, edited(good(), func(t *Stats) {
			t.ErrorRatio, t.OKRatio, t.Denied = 0.06, 0.94, 0
		})), times(1, good())), 352, Drained},
		{"and the cool-down after it", unsmoothed, ticks(times(1, failing()), times(2, good())), 144, CoolingDown},
		{"is over", unsmoothed, ticks(times(1, failing()), times(3, good())), 144 * 1.01, Growing},
		{"slow without a queue", lessLoad, times(1, mild), 100, Watching},
		{"slow and staying so", lessLoad, times(3, mild), 107.5, NewNormal},
		{"slow and falling", lessLoad, ticks(times(2, slow(0.2)), times(2, slow(0.1))), 100, Watching},
		{"slow at the minimum", limit(50), times(9, slowAtMin()), 50, Watching},
		{"slow at the minimum for long", limit(50), times(10, slowAtMin()), 53.75, NewNormal},
		{"slow at the minimum, not all the time", limit(50), ticks(times(9, slowAtMin()), times(1, edited(slowAtMin(), func(t *Stats) {
			t.P50, t.Admitted, t.Denied = 0.02, 10, 0
		})), times(1, slowAtMin())), 50, Watching},
		{"slow at the minimum by the threshold", func(c *Config, s *State) {
			c.Threshold = 0.04
			*s = c.Start()
			s.Limit = 50
		}, times(60, slowAtMin()), 50, AtMin},
		{"slow and rising", lessLoad, ticks(times(1, mild), times(1, slow(0.09))), 50, CutOverload},

		{"few samples", nil, times(2, few(20)), grown(2), Growing},
		{"too few to judge", nil, times(1, few(39)), 400, Gathering},
		{"enough to judge", nil, times(1, few(40)), 404, Growing},
		{"few for five ticks", func(c *Config, _ *State) { c.tuning.enough = 150 }, times(5, few(10)), grown(5), Growing},
		{"few for four ticks", func(c *Config, _ *State) { c.tuning.enough = 150 }, times(4, few(10)), 400, Gathering},
		{"too few to judge, long ago", nil, ticks(times(1, few(20)), times(6, silent()), times(1, few(20))), 400, Gathering},
		{"too few to judge, not so long ago", nil, ticks(times(1, few(20)), times(5, silent()), times(1, few(20))), grown(2), Growing},
		{"fewer", nil, times(1, few(9)), 400, TooFew},
		{"silence", nil, times(30, silent()), 400, NoReports},
		{"silence at the start limit", nil, times(700, silent()), 400, NoReports},
		{"mostly errors for long", nil, times(9, lost()), 50, DrainingErrors},
		{"nothing let in soon after a cut", nil, ticks(times(2, mild), times(20, idle())), 380, NoReports},
		{"and then some, not long enough", nil, ticks(times(2, mild), times(20, idle()), times(5, silent())), 380, NoReports},
		{"and then some", nil, ticks(times(2, mild), times(20, idle()), times(6, silent())), 360, CutBlind},
		{"some now and then", nil, ticks(times(2, mild), again(6, ticks(times(1, silent()), times(3, idle())))), 360, NoReports},
		{"silence soon after a cut", nil, ticks(times(2, mild), times(6, silent())), 360, CutBlind},
		{"and not before", nil, ticks(times(2, mild), times(5, silent())), 380, NoReports},
		{"silence, twice", nil, ticks(times(2, mild), times(4, silent()), times(1, slow(0.001)), times(4, silent())), 380, NoReports},
		{"silence, twice for long", func(_ *Config, s *State) { s.Mark, s.SinceCut, s.Limit = 300, 0, 269 }, ticks(
			times(6, silent()), times(2, good()), times(6, silent())), 270, CutBlind},
		{"silence below a start limit that is out of bounds", func(c *Config, s *State) { c.StartLimit, s.Limit = 10, 50 }, times(40, silent()), 50, NoReports},
		{"no tail to steer by", threshold, times(1, edited(good(), func(t *Stats) { t.P99 = 0 })), 400, NoReports},
		{"no median", threshold, times(1, edited(good(), func(t *Stats) { t.P50 = 0 })), 400, NoReports},
		{"more errors than answers", nil, times(1, edited(good(), func(t *Stats) { t.ErrorRatio = 1.01 })), 400, NoReports},
		{"silence long after a cut", func(_ *Config, s *State) { s.Mark, s.SinceCut = 300, 115 }, times(6, silent()), 400, NoReports},
		{"silence not so long after a cut", func(_ *Config, s *State) { s.Mark, s.SinceCut = 300, 114 }, times(6, silent()), 270, CutBlind},
		{"silence high up", limit(800), times(30, silent()), 800, NoReports},
		{"for long", limit(800), times(31, silent()), 800 - 400*(1-math.Exp(-1.0/30)), Drifting},
		{"silence low down", limit(100), times(600, silent()), 100, NoReports},
		{"for very long", limit(100), times(601, silent()), 100 + 300*(1-math.Exp(-1.0/300)), Drifting},
		{"for ever", limit(800), times(3600, silent()), 400, NoReports},
	}
}

// grown is what 400 hits/s grow to in so many ticks that found all the room.
func grown(ticks int) float64 {
	limit, share := 400.0, 0.02
	for range ticks {
		limit *= 1 + share/2 // the reports are a second old
		share = min(0.3, share*1.5)
	}
	return limit
}

// lessLoad is a limit far below what was delivered in the same run of bad
// ticks.
func lessLoad(_ *Config, s *State) {
	s.Limit, s.Peak, s.Hot = 100, 400, 2
}

func (st *story) play() (Config, State) {
	c := NewConfig(50, 2000, 400)
	s := c.Start()
	s.Baseline = 0.02
	if st.edit != nil {
		st.edit(&c, &s)
	}
	for _, t := range st.ticks {
		s = c.Step(s, t)
	}
	return c, s
}
