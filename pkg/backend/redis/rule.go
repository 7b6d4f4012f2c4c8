package redis

import (
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// The families' numbers in the script.
const (
	tatFamily = iota + 1
	fixedFamily
	counterFamily
	logFamily
	loneFamily // as tatFamily, for what lone.lua can decide
)

// The ops of the script.
const (
	opGiveBack    = -2
	opRefund      = -1
	opLook        = 0
	opCharge      = 1
	opCountAlways = 2
)

// maxHits is the most hits that the script can add exactly.
const maxHits = 1<<53 - 1

// priced is a rule with hits: what the script decides by.
type priced struct {
	rule         *backend.Rule
	hits         int64
	countRefused bool
	lone         bool // whether a request asks nothing else

	back bool  // whether the hits are given back
	at   int64 // where in the state they were charged
}

// pack appends the numbers that the files in lua describe.
func (c *priced) pack(p *packer) {
	r := c.rule.Limit
	op, post := int64(opCharge), int64(0)
	switch {
	case c.back:
		op = opGiveBack
	case c.hits < 0:
		op = opRefund
	case c.countRefused && r.Kind() == algorithms.FixedWindow:
		op = opCountAlways
	case c.hits == 0:
		op = opLook
	}
	if r.Overdraft() > 0 {
		post = 1
	}
	hits := c.hits
	if op == opRefund {
		hits = -max(hits, -maxHits)
	} else if op != opCountAlways {
		hits = max(hits, 1)
	}
	hits = min(hits, maxHits)
	limit, window := r.Limit(), r.Window().Microseconds()
	switch r.Kind().Family() {
	case algorithms.TATFamily:
		s, family := r.MicroStep(c.hits), int64(tatFamily)
		if c.lone && op == opCharge && s.Cost.Frac == 0 {
			family = loneFamily
		}
		p.ints(family, op, post, limit, s.Cost.Whole, s.Cost.Frac, s.Slack.Whole, s.Slack.Frac, s.Fill.Whole, s.Fill.Frac, c.at)
	case algorithms.FixedFamily:
		first := int64(0)
		if r.FirstHit() {
			first = 1
		}
		p.ints(fixedFamily, op, post, hits, limit, limit+r.Overdraft(), window, first, c.at)
	case algorithms.CounterFamily:
		sub, units := subWindow(window, r.Buckets())
		p.ints(counterFamily, op, post, hits, limit, limit+r.Overdraft(), r.Buckets(), sub, units, c.at)
	default:
		p.ints(logFamily, op, post, hits, limit, 0, window, c.at)
	}
}

// subWindow is the length of a sub-window, sub/units µs, in whole numbers.
func subWindow(window, buckets int64) (sub, units int64) {
	for units = 1; window*units%buckets != 0; units++ {
	}
	return window * units / buckets, units
}
