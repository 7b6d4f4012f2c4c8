package adaptive

import "slices"

// Reason says why a limit is where it is, in words for the owner of a service.
type Reason string

// Where a limit begins, and what comes from outside.
const (
	// Starting: no tick has passed yet. The limit is the rule's
	// requests_per_unit.
	Starting Reason = "at the start"
	// Restored: the limit was read back from the store, where a release of rls
	// that has other reasons than this one had left it.
	Restored Reason = "read back from the store"
	// Bounded: min_limit or max_limit of the rule changed, and the limit was
	// moved to the nearer of the two.
	Bounded Reason = "moved into the changed bounds"
)

// Growth, and why there is none.
const (
	// Growing: the latency is below its goal, errors are few, and the limit is
	// what holds the traffic back. It rises by 2 % to 30 % in a tick, under a
	// threshold to 80 %, the faster the longer there is room.
	Growing Reason = "growing"
	// GrowingWithCare: the limit has come back to just below the rate that was
	// too much at the last cut, or under a threshold to just below the best rate of
	// some hours. It goes on from here in small steps.
	GrowingWithCare Reason = "growing with care: near the rate of the last cut"
	// AtMax: there is room for more, but the limit is the rule's max_limit.
	AtMax Reason = "holding: at the maximum"
	// AtGoal: the latency leaves no room for more: it is at its goal, above it by
	// no more than a few requests that wait, where answers are scarce, or above nine
	// tenths of a threshold.
	AtGoal Reason = "holding: latency at the goal"
	// NotInUse: nothing is refused and less than 70 % of the limit is asked for.
	// Whether the service could bear more is not known, so the limit stays.
	NotInUse Reason = "holding: not in use"
	// CoolingDown: the limit was cut, and what it brought cannot be seen in the
	// reports yet.
	CoolingDown Reason = "holding: cooling down after a cut"
)

// Cuts, and what goes with them.
const (
	// Confirming: the latency is above its goal for the first tick. A second one
	// will cut the limit.
	Confirming Reason = "holding: latency above the goal, once"
	// CutLatency: the latency was above its goal for two ticks. The limit was
	// lowered by 5 %, or with a threshold in the proportion in which the latency
	// exceeds it, by half at most; then one tick far above it is enough.
	CutLatency Reason = "cut: latency above the goal"
	// CutOverload: the latency is far above its goal. The limit was lowered to
	// less than the service was seen to deliver, so that its queue drains. Where
	// rls let nothing in itself, what it delivers is taken for the share of the
	// limit that it answers of its requests, half at least. Under a threshold for
	// p99 a median of more than twice its baseline calls for it.
	CutOverload Reason = "cut: latency far above the goal"
	// CutErrors: the share of errors is above error_ratio, with a latency or
	// without, as of connections that are refused. The limit was lowered as for
	// CutOverload; where most answers are errors, the service is taken to deliver
	// half.
	CutErrors Reason = "cut: errors"
	// AtMin: the service is too slow or fails, but the limit is the rule's
	// min_limit already.
	AtMin Reason = "holding: at the minimum"
	// Draining: the limit is kept low for some seconds after a cut, until the
	// queue that had built up in the service is worked off.
	Draining Reason = "draining the queue"
	// DrainingErrors: the drain was to be over, but most answers are errors, so that
	// there is still a queue, or nobody to work it off. The limit is halved each
	// second, down to min_limit.
	DrainingErrors Reason = "draining: most answers are errors"
	// Drained: the queue is worked off, and the limit went up to 90 % of what the
	// service was seen to deliver, or more of it, where answers are scarce.
	Drained Reason = "resumed after draining"
	// Watching: the latency is above its goal although the load was cut and all
	// of it is answered. If it stays where it is for 3 ticks, or for 10 at
	// min_limit, it is no queue.
	Watching Reason = "holding: slow without a queue, watching"
	// NewNormal: less load did not make the service faster, so it has become
	// slower by itself, and its latency is the new baseline. Only without a
	// threshold.
	NewNormal Reason = "the latency is taken as the new normal"
)

// Silence.
const (
	// Gathering: the ticks so far brought 10 to 39 answers, too few to judge by.
	// Five of them are judged as one.
	Gathering Reason = "holding: gathering samples"
	// TooFew: the ticks so far brought fewer than 10 answers, or this one fewer
	// than 40 with no latency at all that are not mostly errors, which counts as no
	// report.
	TooFew Reason = "holding: too few samples"
	// NoReports: no reporter said anything usable; answers without a latency are,
	// only if errors are above error_ratio. The limit stays where it is for 30 s
	// above requests_per_unit, for 600 s below it.
	NoReports Reason = "holding: no reports"
	// CutBlind: for five seconds in which rls let something in no report came, within
	// two minutes after a cut. The limit was
	// lowered to 90 % of what the service had delivered then.
	CutBlind Reason = "cut: no reports soon after a cut"
	// Drifting: there have been no reports for long, and the limit is on its way
	// to the rule's requests_per_unit, in a minute from above, in some ten
	// minutes from below.
	Drifting Reason = "drifting to the start limit"
)

// Reasons lists all reasons: metrics want the whole set.
func Reasons() []Reason {
	return []Reason{
		Starting, Restored, Bounded,
		Growing, GrowingWithCare, AtMax, AtGoal, NotInUse, CoolingDown,
		Confirming, CutLatency, CutOverload, CutErrors, AtMin, Draining, DrainingErrors, Drained, Watching, NewNormal,
		Gathering, TooFew, NoReports, CutBlind, Drifting,
	}
}

func (r Reason) known() bool { return slices.Contains(Reasons(), r) }
