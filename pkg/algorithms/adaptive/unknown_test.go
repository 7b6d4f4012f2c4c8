package adaptive

import (
	"math"
	"math/rand/v2"
	"testing"
)

// strange is a tick of a target that others use: rls let nothing in.
func strange(errors, ok float64) Stats {
	return Stats{Samples: 500, P50: 0.02, P99: 0.02, ErrorRatio: errors, OKRatio: ok, Age: 1, Interval: 1}
}

// refused is a tick in which so many connections of each hundred were refused,
// and nobody knows a latency.
func refused(percent float64) Stats {
	t := good()
	t.P50, t.P99, t.ErrorRatio, t.OKRatio = 0, 0, percent/100, 1-percent/100
	return t
}

func refusedOf(n uint64, percent float64) Stats {
	t := refused(percent)
	t.Samples = n
	return t
}

// A figure that is not known is not 0.
func unknownStories() []story {
	let := func(hits float64, t Stats) Stats {
		t.Admitted = hits
		return t
	}
	return []story{
		{"errors, nothing let in", nil, times(1, strange(0.1, 0.9)), 360, CutErrors},
		{"and then", nil, ticks(times(1, strange(0.1, 0.9)), times(1, strange(0, 1))), 324, Drained},
		{"errors, half of them, nothing let in", nil, times(1, strange(0.5, 0.9)), 360, CutErrors},
		{"few answers, nothing let in", nil, times(1, strange(0.1, 0.1)), 200, CutErrors},
		{"no good answer, nothing let in", nil, times(1, strange(0.3, 0)), 200, CutErrors},
		{"mostly errors, nothing let in", nil, times(1, strange(0.6, 0.9)), 200, CutErrors},
		{"a queue empties, nothing let in", nil, times(1, strange(0.1, 1.3)), 400, CutErrors},
		{"and no more than the limit", nil, ticks(times(1, strange(0.1, 1.3)), times(1, strange(0, 1))), 360, Drained},
		{"nothing let in until now", nil, times(1, let(400, strange(0.1, 0.9))), 320, CutErrors},
		{"a rate that nobody can see", nil, times(1, edited(strange(0.1, 0.9), func(t *Stats) { t.AdmittedThen = 5e-324 })), 360, CutErrors},
		{"no good answer of what was let in", nil, times(1, edited(strange(0.3, 0), func(t *Stats) { t.AdmittedThen = 300 })), 150, CutErrors},
		{"slow, nothing let in", nil, times(1, edited(strange(0, 0.9), func(t *Stats) { t.P50 = 0.1 })), 360 - 360*0.08/2, CutOverload},

		{"all refused", nil, times(1, refused(100)), 50, CutErrors},
		{"and then a drain", nil, times(2, refused(100)), 50, Draining},
		{"all refused, not drained", nil, times(4, refused(100)), 50, DrainingErrors},
		{"all refused, and then well", nil, ticks(times(4, refused(100)), times(1, good())), 180, Drained},
		{"some refused", nil, times(1, refused(6)), 352, CutErrors},
		{"few refused", nil, times(40, refused(5)), 400, NoReports},
		{"all refused at the minimum", func(_ *Config, s *State) { s.Limit = 50 }, times(1, refused(100)), 50, AtMin},
		{"refused by the threshold", func(c *Config, s *State) {
			c.Quantile, c.Threshold = tail99, 0.25
			*s = c.Start()
		}, times(1, refused(100)), 50, CutErrors},
		{"all of ten refused", nil, times(1, refusedOf(10, 100)), 50, CutErrors},
		{"all of nine refused", nil, times(9, refusedOf(9, 100)), 400, TooFew},
		{"some of 40 refused", nil, times(1, refusedOf(40, 10)), 400*0.9 - 40, CutErrors},
		{"some of 39 refused", nil, times(9, refusedOf(39, 10)), 400, TooFew},
		{"refused after long silence", func(_ *Config, s *State) { s.Silent, s.Limit = 700, 800 }, times(1, refused(3)), 800 - 400*(1-math.Exp(-1.0/30)), Drifting},
		{"heard again by refusals", func(_ *Config, s *State) { s.Silent, s.Limit, s.Drain, s.Cool = 700, 800, 3, 3 }, ticks(times(1, refused(100)), times(1, silent())), 800, Draining},
	}
}

func TestUnknownStories(t *testing.T) {
	t.Parallel()
	tell(t, unknownStories())
}

func TestRefusalsEndGathering(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Step(c.Start(), few(39))
	if s.Gather.Ticks != 1 {
		t.Fatalf("%d ticks gathered (%s), want 1", s.Gather.Ticks, s.Reason)
	}
	s = c.Step(s, refused(100))
	if s.Gather != (gather{}) || s.Reason != CutErrors {
		t.Errorf("%+v is left (%s)", s.Gather, s.Reason)
	}
}

func TestSenselessReportsDeliverNothing(t *testing.T) {
	t.Parallel()
	c := NewConfig(50, 2000, 400)
	s := c.Step(c.Start(), good())
	s = c.Step(s, edited(good(), func(t *Stats) { t.ErrorRatio = 1.01 }))
	if s.Delivered != 400 || s.Reason != NoReports {
		t.Errorf("delivered %v (%s), want 400 as before", s.Delivered, s.Reason)
	}
}

// Two of three reporters see nothing but refused connections, 97 % of all
// answers are errors: no reason to grow.
func TestMostReportersSeeRefusals(t *testing.T) {
	t.Parallel()
	dead := Row{Started: 190, Errors: 190}
	well := Row{Started: 12, OK: 12, Latency: TwoPoint(12, 0.02, 0.02)}
	for name, rows := range map[string][]Row{
		"two of three": {dead, well, dead}, "all three": {dead, dead, dead}, "one of two": {dead, well}, "one": {dead},
	} {
		stats := Merge(rows)
		stats.Admitted, stats.Denied, stats.AdmittedThen, stats.Age = 400, 100, 400, 1
		c := NewConfig(50, 2000, 400)
		if s := c.Step(c.Start(), stats); s.Limit != 50 || s.Reason != CutErrors {
			t.Errorf("%s: limit %v (%s) after %+v", name, s.Limit, s.Reason, stats)
		}
	}
}

// No cut leaves 0 as the rate that was delivered.
func TestCutsLeaveAMark(t *testing.T) {
	t.Parallel()
	random, cuts := rand.New(rand.NewPCG(21, 22)), 0
	for range 300 {
		c := anyConfig(random)
		s := c.Start()
		for range 60 {
			stats := anyStats(random)
			if random.IntN(3) == 0 {
				stats.AdmittedThen = 0
			}
			s = c.Step(s, stats)
			if s.SinceCut > 0 {
				continue
			}
			if cuts++; s.Mark <= 0 {
				t.Fatalf("mark %v, resume %v (%s) after %+v", s.Mark, s.Resume, s.Reason, stats)
			}
		}
	}
	if cuts < 1000 {
		t.Errorf("%d cuts only", cuts)
	}
}

// Where rls knows nothing of what it let in, one tick takes half of the limit at
// most.
func TestUnknownLoadCostsHalfAtMost(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(23, 24))
	for range 1000 {
		c := NewConfig(50, 2000, 100+1900*random.Float64())
		stats := strange(random.Float64(), random.Float64())
		stats.Age = random.Float64()
		s := c.Step(c.Start(), stats)
		if s.Limit < 0.4999*c.StartLimit || s.Limit > c.StartLimit*1.0001 {
			t.Fatalf("from %v to %v (%s) after %+v", c.StartLimit, s.Limit, s.Reason, stats)
		}
	}
}

// A tick without a latency teaches none, never makes the limit grow, and tells
// what was delivered; with too many errors it cuts unless a cut is under way.
func TestNoLatencyTeachesNone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(25, 26))
	for range 300 {
		c := anyConfig(random)
		s := c.Start()
		for range 30 {
			s = c.Step(s, anyStats(random))
		}
		for range 30 {
			was, stats := s, refusedOf(40+random.Uint64N(1000), 100*random.Float64())
			s = c.Step(s, stats)
			if s.Latency != was.Latency || s.Baseline != was.Baseline {
				t.Fatalf("learned %v, %v from %+v", s.Latency, s.Baseline, stats)
			}
			if s.Limit > was.Limit && s.Reason != Drained && s.Reason != Drifting {
				t.Fatalf("from %v to %v (%s)", was.Limit, s.Limit, s.Reason)
			}
			if s.Delivered != stats.AdmittedThen*stats.OKRatio {
				t.Fatalf("delivered %v after %+v", s.Delivered, stats)
			}
			failing := stats.ErrorRatio > c.ErrorRatio
			if failing && was.Cool == 0 && s.SinceCut > 0 || !failing && s.SinceCut == 0 {
				t.Fatalf("%v errors of %v: %s", stats.ErrorRatio, c.ErrorRatio, s.Reason)
			}
			if failing != (s.Silent == 0) {
				t.Fatalf("silent for %v s after %+v", s.Silent, stats)
			}
		}
	}
}
