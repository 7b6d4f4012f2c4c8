package model

import (
	"math"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// What the rivals share with the product's controller, at its values.
const (
	tolerance  = 2.0  // the goal, in baselines
	errorsMax  = 0.05 // share
	fewest     = 10   // samples below which a tick says nothing
	baseDown   = 0.1  // share of the way, per tick
	baseUp     = 0.02
	fallAfter  = 30.0 // s of silence
	riseAfter  = 600.0
	fallWithin = 30.0 // s, time constants
	riseWithin = 300.0
	inUse      = 0.7 // of the limit
)

// rival is a controller from elsewhere: its rule, and what all share around it.
type rival struct {
	bounds   Bounds
	limit    float64
	baseline float64 // s; 0 = none yet
	silent   float64 // s
	// step is the rule: the next limit, before the bounds.
	step func(r *rival, s adaptive.Stats) float64
}

// Tick steps the rule, or drifts towards the start when nothing is heard.
func (r *rival) Tick(s adaptive.Stats) float64 {
	if s.P50 > 0 && s.Samples >= fewest {
		r.silent = 0
		r.set(r.step(r, s))
		return r.limit
	}
	r.silent += s.Interval
	away := r.bounds.Start - r.limit
	after, within := fallAfter, fallWithin
	if away > 0 {
		after, within = riseAfter, riseWithin
	}
	if r.silent > after {
		r.set(r.limit + away*(1-math.Exp(-s.Interval/within)))
	}
	return r.limit
}

func (r *rival) set(limit float64) { r.limit = max(r.bounds.Min, min(r.bounds.Max, limit)) }

// learn moves the baseline: down quickly, up slowly and only while the limit is
// not what holds the traffic back.
func (r *rival) learn(s adaptive.Stats) float64 {
	switch {
	case r.baseline == 0:
		r.baseline = s.P50
	case s.P50 < r.baseline:
		r.baseline += baseDown * (s.P50 - r.baseline)
	case s.Denied == 0 && s.P50 <= tolerance*r.baseline && s.ErrorRatio <= errorsMax:
		r.baseline += baseUp * (s.P50 - r.baseline)
	}
	return r.baseline
}

func (r *rival) used(s adaptive.Stats) bool { return s.Denied > 0 || s.Admitted >= inUse*r.limit }

// static keeps the limit.
func static(r *rival, _ adaptive.Stats) float64 { return r.limit }

// aimd adds ten hits/s a tick, and takes a fifth off when it hurts.
func aimd(r *rival, s adaptive.Stats) float64 {
	base := r.learn(s)
	switch {
	case s.P50 > tolerance*base || s.ErrorRatio > errorsMax:
		return r.limit * 0.8
	case r.used(s):
		return r.limit + 10
	default:
		return r.limit
	}
}

// gradient2 is Netflix' rule for concurrency, with a rate in its place: the limit
// follows the ratio of a slow mean of the latency to the latency now.
type gradient2 struct {
	slow  float64 // s
	ticks float64
}

func (g *gradient2) step(r *rival, s adaptive.Stats) float64 {
	const warm, window, patience, smooth = 10, 600, 1.5, 0.2
	g.ticks++
	if g.ticks <= warm {
		g.slow += (s.P50 - g.slow) / g.ticks
	} else {
		g.slow += (s.P50 - g.slow) * 2 / (window + 1)
	}
	if g.slow > 2*s.P50 {
		g.slow *= 0.95
	}
	if !r.used(s) {
		return r.limit
	}
	gradient := max(0.5, min(1, patience*g.slow/s.P50))
	return (1-smooth)*r.limit + smooth*(r.limit*gradient+math.Sqrt(r.limit))
}

// vegas is TCP Vegas for a rate: it keeps an estimated queue between two bounds.
func vegas(r *rival, s adaptive.Stats) float64 {
	const gentle = 0.2 // what was made for a step a round trip, made for one a second
	base := r.learn(s)
	if s.ErrorRatio > errorsMax {
		return r.limit - math.Log10(max(10, r.limit*s.P50))/base
	}
	if !r.used(s) {
		return r.limit
	}
	unit := math.Log10(max(10, r.limit*base)) // requests in flight
	switch queue := r.limit * (s.P50 - base); {
	case queue <= unit:
		return r.limit + 6*unit/base*gentle
	case queue < 3*unit:
		return r.limit + unit/base*gentle
	case queue > 6*unit:
		return r.limit - unit/base
	default:
		return r.limit
	}
}

// pid steers by how far the latency is from the goal.
type pid struct {
	last, before float64 // errors of the two ticks past
}

func (p *pid) step(r *rival, s adaptive.Stats) float64 {
	const proportional, integral, differential = 0.30, 0.10, 0.05
	e := max(-1, min(1, 1-s.P50/(tolerance*r.learn(s))))
	if s.ErrorRatio > errorsMax {
		e = -1
	}
	move := proportional*(e-p.last) + integral*e + differential*(e-2*p.last+p.before)
	p.before, p.last = p.last, e
	if move > 0 && !r.used(s) {
		return r.limit
	}
	return r.limit * (1 + max(-0.5, min(0.2, move)))
}
