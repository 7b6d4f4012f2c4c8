package adaptive

import "testing"

// from is a tick from so many answers.
func from(answers uint64, t Stats) Stats {
	t.Samples = answers
	return t
}

// again is some ticks, over and over.
func again(n int, part []Stats) []Stats {
	var all []Stats
	for range n {
		all = append(all, part...)
	}
	return all
}

// tail99of250 is a threshold of 250 ms for the tail, which is at 200 ms while the
// median is at 20 ms without a queue.
func tail99of250(c *Config, s *State) {
	c.Quantile, c.Threshold = tail99, 0.25
	*s = c.Start()
	s.Baseline, s.Idle = 0.02, 0.2
}

// Of a tick of 50 answers/s the median may be 140 ms above its goal of 40 ms.
func TestScarceAnswers(t *testing.T) {
	t.Parallel()
	now := times(1, few(1))
	tell(t, []story{
		{"five answers", nil, times(1, few(5)), 400, TooFew},
		{"and five more", nil, times(2, few(5)), 400, Gathering},
		{"five answers a tick", nil, times(5, few(5)), grown(5), Growing},
		{"nine answers, one a tick", nil, times(9, few(1)), 400, TooFew},
		{"ten answers, one a tick", nil, times(10, few(1)), grown(10), Growing},
		{"ten answers, one now and then", nil, again(10, ticks(now, times(5, silent()))), grown(10), NoReports},
		{"ten answers, too far apart", nil, again(10, ticks(now, times(6, silent()))), 400, NoReports},
		{"an answer in a drain", nil, ticks(times(1, failing()), times(6, few(1))), 144, Drained},
		{"a latency of no answers", nil, times(30, few(0)), 400, TooFew},

		{"a few wait", nil, times(9, from(50, slow(0.18))), 400, AtGoal},
		{"some more", nil, times(1, from(50, slow(0.181))), 400, Confirming},
		{"a queue", nil, times(1, from(50, slow(0.21))), 400 - 400*0.19/2, CutOverload},
		{"goes on with all that was delivered", nil, ticks(times(1, from(50, slow(0.21))), times(2, silent())), 400, Drained},
		{"a few wait, twice as scarce", nil, times(10, from(25, slow(0.319))), 400, AtGoal},
		{"a few wait, half as scarce", nil, times(9, from(75, slow(0.086))), 400, AtGoal},
		{"some more, half as scarce", nil, times(1, from(75, slow(0.088))), 400, Confirming},
		{"answers enough", nil, times(1, from(100, slow(0.041))), 400, Confirming},
		{"answers enough for half a tick", nil, times(1, late(0.5, from(50, slow(0.041)))), 400, Confirming},
		{"a threshold is absolute", tail99of250, times(1, from(50, slow(0.251))), 400, Confirming},

		{"not smoothed", nil, both(from(50, good()), from(50, slow(0.19))), grown(1), Confirming},
		{"half smoothed", nil, both(from(75, good()), from(75, slow(0.12))), grown(1), Confirming},
		{"half smoothed, less", nil, both(from(75, good()), from(75, slow(0.11))), grown(1), AtGoal},
		{"a tail is", tail99of250, both(from(50, slow(0.02)), from(50, slow(0.5))), grown(1), AtGoal},
		{"a tail that was gathered is not", tail99of250, ticks(times(1, from(50, slow(0.02))), times(2, from(25, slow(0.3)))), grown(1), Confirming},
		{"scarce of late only", nil, ticks(times(1, good()), times(2, from(50, slow(0.06)))), 404 * (1 + 0.02*2*(0.5-0.5*50/110*2)/2), Confirming},
	})
}

func both(first, second Stats) []Stats { return []Stats{first, second} }

// What brings nothing leaves nothing behind.
func TestNothingToGather(t *testing.T) {
	t.Parallel()
	for name, tick := range map[string]Stats{"silence": silent(), "a latency of no answers": few(0), "no median": edited(few(5), func(t *Stats) { t.P50 = 0 })} {
		_, s := (&story{ticks: times(3, tick)}).play()
		if s.Gather != (gather{}) || s.Answers != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
