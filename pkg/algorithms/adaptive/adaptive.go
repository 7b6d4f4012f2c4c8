// Package adaptive moves a limit with the health of what it protects. Reporters
// say how an interval went (Row), Merge makes one view of them that a minority
// of liars cannot bend (Stats), and Config.Step, once a second, turns a state
// and that view into the next state, whose Limit is to be enforced.
//
// Down, the limit goes to the rate that was seen to be delivered, after a drain
// that lets the queue empty. Up, it grows by a factor, the faster the more the
// latency stays below its goal. Nothing here does I/O, reads a clock or takes a
// lock. Times are seconds, rates hits a second.
package adaptive

import "math"

// Row is what one reporter saw of one target in one interval.
type Row struct {
	Started uint64 // requests sent; the caller fills in a guess where the reporter cannot know
	OK      uint64 // requests answered well
	Errors  uint64 // timeouts, 5xx, resets
	Latency Sketch // of the answers that took time: a refused connection has none
}

// Stats is one tick's view of a target: what Merge makes of the reports, beside
// what the service itself counted.
type Stats struct {
	Samples    uint64  // answers that the figures rest on
	P50, P99   float64 // s; 0 = no usable latency was reported
	ErrorRatio float64 // errors per answer
	OKRatio    float64 // good answers per request started; above 1 while a queue empties

	Admitted     float64 // hits/s let in during the last tick
	Denied       float64 // hits/s refused in the last tick
	AdmittedThen float64 // hits/s let in during the interval that the reports speak of; 0 = not known
	Age          float64 // s since that interval ended
	Interval     float64 // s since the last tick; 0 = 1
}

// What Step believes at most, so that no figure can overflow or hold the limit
// for longer than a person would wait.
const (
	longestLatency = 128.0   // s, the end of the sketch
	longestAge     = 60.0    // s
	longestTime    = 86400.0 // s; whatever is longer ago is long ago
	highestRate    = 1e19    // hits/s, above 2^32 hits a nanosecond
	lowestRate     = 1 / longestTime
	highestRatio   = 1e6     // good answers per request
	mostSamples    = 1 << 53 // answers, a whole number as a float
)

// clean gives statistics that can be reckoned with. Reports that make no sense
// count as none; of the service's own figures, the ones that make no sense
// count as 0.
func (t Stats) clean() Stats {
	t.Samples = min(t.Samples, mostSamples)
	if !within(t.P50, longestLatency) || !within(t.P99, longestLatency) ||
		!within(t.ErrorRatio, 1) || !within(t.OKRatio, highestRatio) {
		t.Samples, t.P50, t.P99, t.ErrorRatio, t.OKRatio = 0, 0, 0, 0, 0
	}
	t.Admitted = bounded(t.Admitted, highestRate)
	t.Denied = bounded(t.Denied, highestRate)
	if t.AdmittedThen = bounded(t.AdmittedThen, highestRate); t.AdmittedThen < lowestRate {
		t.AdmittedThen = 0
	}
	t.Age = bounded(t.Age, longestAge)
	if t.Interval = bounded(t.Interval, longestTime); t.Interval == 0 {
		t.Interval = 1
	}
	return t
}

// within tells a number of [0, most] from all else, NaN included.
func within(x, most float64) bool {
	return x >= 0 && x <= most
}

// bounded is x within [0, most], and 0 for NaN.
func bounded(x, most float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(x, most))
}
