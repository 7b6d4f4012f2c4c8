package adaptive

// Config is what the owner of a service chooses. NewConfig makes it.
type Config struct {
	MinLimit, MaxLimit float64 // hits/s, the limit never leaves them
	StartLimit         float64 // hits/s, where it starts, and where it rests without reports
	Quantile           float64 // which latency Threshold speaks of, 0.5 or 0.99
	Threshold          float64 // s, the latency to stay below; 0 = twice a baseline that is learned
	ErrorRatio         float64 // errors per answer above which the limit is cut

	tuning tuning
}

// NewConfig has a learned baseline and 5 % errors for goals. It takes
// 0 < lowest <= start <= highest, in hits a second.
func NewConfig(lowest, highest, start float64) Config {
	return Config{
		MinLimit: lowest, MaxLimit: highest, StartLimit: start,
		Quantile: median50, ErrorRatio: 0.05, tuning: tuned(),
	}
}

// The quantiles that can steer.
const (
	median50 = 0.5
	tail99   = 0.99
)

// tuning holds the constants of the controller, found by simulation.
type tuning struct {
	tolerance float64 // the goal is so many times the baseline
	baseDown  float64 // share of the way that the baseline falls in a tick
	baseUp    float64 // share of the way that it rises
	baseOnce  float64 // share of the latency to which it is raised once, after a start with the quickest answers only

	minSamples float64 // fewer count as silence
	enough     float64 // fewer are gathered over ticks
	gatherMost int     // ticks
	smooth     float64 // samples that weigh as much as the latency so far

	severe  float64 // times the goal: cut at once, to what was delivered
	behind  float64 // share of what was let in: with less than that answered, a queue builds; 0 = not looked at
	sure    float64 // times the goal above which that is believed at once
	confirm int     // ticks above the goal until a mild cut
	cutMin  float64 // share that a mild cut takes off
	cutMax  float64 // share that a cut takes off at most where the delivered rate is unknown
	settle  float64 // s to wait after a cut beyond the time in which it shows

	drain     float64 // s in which a drain is to empty the queue
	drainMost float64 // s that a drain lasts at most
	resume    float64 // share of the delivered rate to go on with
	linger    float64 // s by which a drain goes on while most answers are errors

	scarce  float64 // answers a tick below which they are scarce
	waiting float64 // requests that may wait where answers are scarce, without a cut

	growMin, growMax float64 // share added in a tick
	growFaster       float64 // factor of the share, per tick with room
	room             float64 // share of the goal not used that counts as room
	near             float64 // share of the rate of the last cut at which growth starts anew

	easy   float64 // times its own baseline, up to which the median lets growth under a threshold be fast; 0 = the median has no say
	spare  float64 // share of the threshold up to which it grows
	growUp float64 // share added in a tick, at most
	fade   float64 // s, time constant in which the best delivered rate is forgotten

	far       float64 // share of the best delivered rate: below it there is a long way back; 0 = not looked at
	farScarce float64 // growFaster then, where answers are scarce
	farGuided float64 // growFaster then, under a threshold

	giveUp    float64 // share of the best delivered rate: cut so far and still slow, it is no queue
	flatTicks int     // ticks that the latency has to stay put then
	flatAtMin int     // ticks that it has to at the minimum

	blindAfter  float64 // s without reports until a limit that was cut of late is lowered
	blindRecent float64 // s that a cut is of late
	holdHigh    float64 // s that a limit above the start limit is held without reports
	holdLow     float64 // s that one below it is held
	driftDown   float64 // s, time constant of the way down to the start limit
	driftUp     float64 // s, of the way up
}

func tuned() tuning {
	return tuning{
		tolerance: 2, baseDown: 0.1, baseUp: 0.02, baseOnce: 0.8,
		minSamples: 10, enough: 40, gatherMost: 5, smooth: 60,
		severe: 1.5, behind: 0.75, sure: 1.25, confirm: 2, cutMin: 0.05, cutMax: 0.5, settle: 1,
		drain: 2, drainMost: 8, resume: 0.9, linger: 1,
		scarce: 100, waiting: 7,
		growMin: 0.02, growMax: 0.3, growFaster: 1.5, room: 0.25, near: 0.92,
		easy: 1.5, spare: 0.9, growUp: 0.8, fade: 3600,
		far: 0.7, farScarce: 2, farGuided: 5,
		giveUp: 0.8, flatTicks: 3, flatAtMin: 10,
		blindAfter: 5, blindRecent: 120, holdHigh: 30, holdLow: 600, driftDown: 30, driftUp: 300,
	}
}

// steered is the quantile that steers.
func (c *Config) steered() float64 {
	if c.Threshold > 0 && c.Quantile == tail99 {
		return tail99
	}
	return median50
}

// clamp is a limit within the bounds.
func (c *Config) clamp(limit float64) float64 {
	return max(c.MinLimit, min(c.MaxLimit, limit))
}
