package algorithms

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// ParamError is one fault of a rule's numbers.
type ParamError struct {
	// Field is kind, limit, window, burst, overdraft, buckets, align, max_delay,
	// min_limit, max_limit or burst_ratio.
	Field string
	// Text is what is wrong and what is wanted: "is 0, must be 1 to 4294967295".
	Text string
}

func (e ParamError) Error() string { return e.Field + " " + e.Text }

// ParamErrors are all faults of a rule's numbers, at least one.
type ParamErrors []ParamError

func (e ParamErrors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *ParamErrors) add(field, format string, args ...any) {
	*e = append(*e, ParamError{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (e *ParamErrors) within(field string, value, low, high int64) {
	switch {
	case value >= low && value <= high:
	case low == high:
		e.add(field, "is %d, must be %d", value, low)
	default:
		e.add(field, "is %d, must be %d to %d", value, low, high)
	}
}

// maxRatio is the largest burst_ratio.
const maxRatio = 1000

func (p Params) withDefaults() Params {
	if p.Buckets == 0 {
		p.Buckets = 1
	}
	if p.BurstNum == 0 && p.BurstDen == 0 {
		p.BurstNum, p.BurstDen = 1, 1
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = math.MaxInt64
	}
	return p
}

// capacity is the most hits at one instant under a limit.
func (p Params) capacity(limit int64) int64 {
	switch {
	case p.Kind == Adaptive:
		burst, _ := mulDiv(limit, p.BurstNum, p.BurstDen)
		return max(1, burst)
	case p.Burst > 0:
		return p.Burst
	default:
		return limit
	}
}

// check finds the faults of p, whose defaults are filled in.
func (p Params) check() ParamErrors {
	var errs ParamErrors
	if p.Kind.Family() == 0 {
		errs.add("kind", "is %d, must be a known algorithm", uint8(p.Kind))
		return errs
	}
	p.checkWindow(&errs)
	p.checkCounts(&errs)
	p.checkForeign(&errs)
	if p.Kind == Adaptive {
		p.checkAdaptive(&errs)
	}
	if len(errs) == 0 {
		p.checkFill(&errs)
	}
	return errs
}

func (p Params) checkWindow(errs *ParamErrors) {
	low := time.Duration(1)
	if p.Kind == Deny { // may do without: nothing is counted in it
		low = 0
	}
	if p.Window < low || p.Window > MaxWindow {
		errs.add("window", "is %s, must be %s to %s", p.Window, low, MaxWindow)
		return
	}
	if p.Buckets < 1 || p.Buckets > MaxBuckets {
		errs.add("buckets", "is %d, must be 1 to %d", p.Buckets, MaxBuckets)
		return
	}
	if int64(p.Window)%p.Buckets != 0 {
		errs.add("buckets", "is %d, must divide the window of %s", p.Buckets, p.Window)
	}
}

func (p Params) checkCounts(errs *ParamErrors) {
	low, high := int64(1), int64(MaxCount)
	switch p.Kind {
	case SlidingLog:
		high = MaxLogLimit
	case Deny:
		low, high = 0, 0
	default:
	}
	errs.within("limit", p.Limit, low, high)
	if p.Burst != 0 {
		errs.within("burst", p.Burst, 1, MaxCount)
	}
	errs.within("overdraft", p.Overdraft, 0, MaxCount)
	if p.MaxDelay < 0 {
		errs.add("max_delay", "is %s, must be at least 0s", p.MaxDelay)
	}
}

// checkForeign finds numbers that mean nothing to the kind.
func (p Params) checkForeign(errs *ParamErrors) {
	tat := p.Kind.Family() == TATFamily
	foreign := []struct {
		field string
		given bool
		text  string
	}{
		{"burst", p.Burst > 0 && (!tat || p.Kind == Adaptive), "is only for token_bucket, leaky_bucket and gcra"},
		{"overdraft", p.Overdraft > 0 && (p.Kind == SlidingLog || p.Kind == LeakyQueue || p.Kind == Deny), "is not for a log, a queue or a limit of 0"},
		{"buckets", p.Buckets > 1 && p.Kind != SlidingCounter, "is only for a sliding counter"},
		{"align", p.FirstHit && p.Kind != FixedWindow, "is only for fixed_window"},
		{"max_delay", p.MaxDelay > 0 && p.MaxDelay != math.MaxInt64 && p.Kind != LeakyQueue, "is only for a leaky bucket as a queue"},
		{"min_limit", p.MinLimit != 0 && p.Kind != Adaptive, "is only for adaptive"},
		{"max_limit", p.MaxLimit != 0 && p.Kind != Adaptive, "is only for adaptive"},
		{"burst_ratio", (p.BurstNum != 1 || p.BurstDen != 1) && p.Kind != Adaptive, "is only for adaptive"},
	}
	for _, f := range foreign {
		if f.given {
			errs.add(f.field, "%s", f.text)
		}
	}
}

func (p Params) checkAdaptive(errs *ParamErrors) {
	before := len(*errs)
	errs.within("min_limit", p.MinLimit, 1, MaxCount)
	errs.within("max_limit", p.MaxLimit, 1, MaxCount)
	if p.BurstNum < 1 || p.BurstDen < 1 || cmpProducts(p.BurstNum, 1, p.BurstDen, maxRatio) > 0 {
		errs.add("burst_ratio", "is %d/%d, must be above 0, at most %d", p.BurstNum, p.BurstDen, maxRatio)
	}
	if len(*errs) > before {
		return
	}
	if p.MinLimit > p.MaxLimit {
		errs.add("min_limit", "is %d, must be at most max_limit, %d", p.MinLimit, p.MaxLimit)
		return
	}
	if p.Limit < p.MinLimit || p.Limit > p.MaxLimit {
		errs.add("limit", "is %d, must be %d to %d, its min_limit and max_limit", p.Limit, p.MinLimit, p.MaxLimit)
	}
	if burst := p.capacity(p.MaxLimit); burst > MaxCount {
		errs.add("burst_ratio", "makes a burst of %d at max_limit, must be at most %d", burst, int64(MaxCount))
	}
}

// checkFill bounds (B+N)*T; of an adaptive rule at its slowest rate, min_limit, and
// with its largest burst, so that no limit it moves to breaks the bound.
func (p Params) checkFill(errs *ParamErrors) {
	if p.Kind.Family() != TATFamily {
		return
	}
	rate, field, capacity := p.Limit, "burst", p.capacity(p.Limit)
	if p.Kind == Adaptive {
		rate, field, capacity = p.MinLimit, "max_limit", p.capacity(p.MaxLimit)
	}
	if p.Overdraft > capacity {
		field = "overdraft"
	}
	if cmpProducts(capacity+p.Overdraft, int64(p.Window), rate, int64(MaxFill)) > 0 {
		errs.add(field, "makes the time to fill (%d hits at %d per %s) longer than %s",
			capacity+p.Overdraft, rate, p.Window, MaxFill)
	}
}
