package redis

import (
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// charged says whether the decision took hits that a refusal of the request gives
// back. Refunds and post-paid charges stand.
func (it *item) charged() bool {
	return it.fits && it.hits > 0 && it.rule.Limit.Overdraft() == 0
}

// giveBack makes c the call that takes back what another has charged, and says
// whether there is anything.
func (c *call) giveBack(charged *call) bool {
	c.reset()
	c.slot = charged.slot
	for i := range charged.items {
		it := &charged.items[i]
		if !it.charged() {
			continue
		}
		at, err := it.chargedAt(charged.now)
		if err != nil {
			continue
		}
		start := len(c.keys)
		c.keys = append(c.keys, it.key...)
		p := it.priced
		p.back, p.at = true, at
		c.items = append(c.items, item{priced: p, start: start, end: len(c.keys), prev: -1})
	}
	c.cutKeys()
	return len(c.items) > 0
}

// chargedAt is where in the state a charge at now, in µs, was recorded: the start
// of its window, the number of its sub-window, or now itself.
func (it *item) chargedAt(now int64) (int64, error) {
	rule := it.rule.Limit
	family := rule.Kind().Family()
	if family != algorithms.FixedFamily && family != algorithms.CounterFamily {
		return now, nil
	}
	var n [algorithms.MaxBuckets + 2]int64
	count, err := numbers(it.thought, &n)
	if err != nil {
		return 0, err
	}
	window := rule.Window().Microseconds()
	if family == algorithms.CounterFamily {
		sub, units := subWindow(window, rule.Buckets())
		index := now * units / sub
		if count > 0 && n[0] > index { // the clock has stepped back
			index++
		}
		return index, nil
	}
	start, latest := now, now
	if !rule.FirstHit() {
		start = now - now%window
		latest = start + window
		n[0] -= n[0] % window
	}
	if n[1] > 0 && n[0]+window > now {
		start = min(n[0], latest)
	}
	return start, nil
}

// spare makes the answers of a call that has charged those of a request that was
// refused.
func (c *call) spare(answers []backend.Answer) {
	for i, owner := range c.owners {
		if owner < 0 || answers[i].Err != nil {
			continue
		}
		it := &c.items[owner]
		thought := outcome{Decision: answers[i].Decision, used: answers[i].Used}
		o, err := it.spared(&thought, it.left, c.now*int64(time.Microsecond))
		if err != nil {
			answers[i] = backend.Answer{Err: err, Source: backend.FromFallback}
			continue
		}
		roundUp(&o.Decision)
		answers[i].Decision, answers[i].Used = o.Decision, o.used
	}
}
