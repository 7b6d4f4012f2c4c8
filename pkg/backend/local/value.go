package local

import "github.com/eb50146d/rls/pkg/algorithms"

// value is one key's state in the form of its layout.
type value struct {
	state  algorithms.State
	log    *algorithms.Log
	counts *algorithms.Counts
}

// fresh is the value of a key that was never seen.
func fresh(layout algorithms.Layout) value {
	switch layout {
	case algorithms.InLog:
		return value{log: new(algorithms.Log)}
	case algorithms.InCounts:
		return value{counts: new(algorithms.Counts)}
	default:
		return value{}
	}
}

// outcome is what a decision wants to make of a value.
type outcome struct {
	algorithms.Decision
	state   algorithms.State
	log     algorithms.LogEdit
	counts  algorithms.CountsEdit
	changed bool // whether anything is to be written
}

// decide leaves v unchanged.
func (v *value) decide(rule *algorithms.Rule, now, hits int64, countRefused bool) (o outcome) {
	switch rule.Layout() {
	case algorithms.InLog:
		o.log, o.Decision = rule.DecideLog(v.log, now, hits)
		o.changed = o.log != algorithms.LogEdit{}
	case algorithms.InCounts:
		o.counts, o.Decision = rule.DecideCounts(v.counts, now, hits)
		o.changed = o.counts != algorithms.CountsEdit{}
	default:
		if countRefused && rule.Kind() == algorithms.FixedWindow {
			o.state, o.Decision = rule.DecideCountRefused(v.state, now, hits)
		} else {
			o.state, o.Decision = rule.Decide(v.state, now, hits)
		}
		o.changed = o.state != v.state
	}
	return o
}

// apply makes v what the outcome wants.
func (v *value) apply(o *outcome) {
	switch {
	case v.log != nil:
		v.log.Apply(o.log)
	case v.counts != nil:
		v.counts.Apply(o.counts)
	default:
		v.state = o.state
	}
}

// bytes is what v takes beside its place in a store.
func (v *value) bytes() int64 {
	switch {
	case v.log != nil:
		return v.log.Bytes()
	case v.counts != nil:
		return v.counts.Bytes()
	default:
		return 0
	}
}

// clone is a copy that shares nothing with v.
func (v *value) clone() value {
	switch {
	case v.log != nil:
		return value{log: v.log.Clone()}
	case v.counts != nil:
		return value{counts: v.counts.Clone()}
	default:
		return *v
	}
}

// limitedUntil is the instant until which v refuses a single hit, or 0. No rule
// with a state refuses a single hit for ever.
func (v *value) limitedUntil(rule *algorithms.Rule, now, remaining int64) int64 {
	if remaining > 0 {
		return 0
	}
	look := v.decide(rule, now, 0, false)
	return after(now, look.RetryAfter)
}
