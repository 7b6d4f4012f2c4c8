package redis

import (
	"bytes"
	"math"
	"slices"
)

// link finds the items with the same key. Those with the same rule are added up
// and decided by the first; those with another one start, in order, from what the
// one before would leave.
func (c *call) link() {
	if len(c.items) < 2 {
		return
	}
	c.order = c.order[:0]
	for i := range c.items {
		c.order = append(c.order, i)
	}
	slices.SortStableFunc(c.order, func(i, j int) int { return bytes.Compare(c.items[i].key, c.items[j].key) })
	joined := false
	for k := 1; k < len(c.order); k++ {
		i, tail := c.order[k], c.order[k-1]
		if !bytes.Equal(c.items[i].key, c.items[tail].key) {
			continue
		}
		if lead := c.lead(i, tail); lead >= 0 {
			c.items[lead].hits = sum(c.items[lead].hits, c.items[i].hits)
			c.items[i].rule, c.items[i].prev = nil, lead
			c.order[k], joined = tail, true
		} else {
			c.items[i].prev = tail
		}
	}
	if joined {
		c.compact()
	}
}

// lead is the item with the rule of i in the chain that ends with tail, or -1.
func (c *call) lead(i, tail int) int {
	for ; tail >= 0; tail = c.items[tail].prev {
		if c.items[tail].rule.Same(c.items[i].rule) {
			return tail
		}
	}
	return -1
}

// compact removes the items that have joined another one, which then have no rule.
func (c *call) compact() {
	places, kept := c.order, 0 // where each item goes
	for i := range c.items {
		it := c.items[i]
		if it.rule == nil {
			places[i] = places[it.prev]
			continue
		}
		if it.prev >= 0 {
			it.prev = places[it.prev]
		}
		places[i] = kept
		c.items[kept] = it
		kept++
	}
	c.items = c.items[:kept]
	for i, owner := range c.owners {
		if owner >= 0 {
			c.owners[i] = places[owner]
		}
	}
}

// sum is a + b, or the nearest int64.
func sum(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	default:
		return a + b
	}
}
