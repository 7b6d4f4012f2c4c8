package redis

import (
	"bytes"
	"math"
	"slices"
	"sync/atomic"

	"github.com/eb50146d/rls/pkg/backend"
)

// call is one request on its way to Redis and back. It holds copies, so that it
// outlives a caller that has left.
type call struct {
	items   []item
	owners  []int // for each ask the item that decides for it, or keyless
	keys    []byte
	order   []int // scratch of link
	group   group
	grouped bool // whether the items are decided together
	refused bool // whether the script refused them all

	slot   uint16
	asking bool  // whether the node has the slot only if it is told so
	alone  bool  // whether the call shares no command
	hops   uint8 // redirections so far

	now   int64  // instant of the decision, µs
	lines string // of the reply, those of items
	err   error

	state atomic.Int32
	done  chan struct{} // receives once if the caller has not left
}

// The states of a call.
const (
	waiting int32 = iota
	left          // the caller has gone; whoever holds the call recycles it
	delivered
	unheeded // as left, but it is sent
)

// Owners that are no items.
const (
	keyless   = -1 // of an ask that Redis is not asked about
	elsewhere = -2 // of an ask that another call decides
)

// share is what a call has of a request: the asks whose part is this one; without
// parts it is all.
type share struct {
	parts []int
	part  int
}

func (s share) has(ask int) bool { return len(s.parts) == 0 || s.parts[ask] == s.part }

// item is one key with a rule and hits.
type item struct {
	priced

	key        []byte
	start, end int // of the key in the call's keys
	prev       int // the item whose outcome this one starts from; -1 = what is kept
	first      int // the ask that was answered by the item's line

	thought, left string // what the item was decided on, and what is there if it charges nothing
	fits          bool
}

// MarshalBinary hands the key to the client without an allocation.
func (it *item) MarshalBinary() ([]byte, error) { return it.key, nil }

// group is what the script needs to form a request's verdict.
type group struct {
	mode                     int64
	over, quotas, quotasOver int // of keyless asks
	modes, owners            []int64
}

// The bits of a mode in the script.
const (
	modeShadow = 1
	modeQuota  = 2
	modeDeny   = 4
)

// What a group does beside its decision, a bit each.
const (
	looks     = 1 // writes nothing
	tellsBoth = 2 // says what would be there without the charges, too
)

func newCall() *call { return &call{done: make(chan struct{}, 1)} }

func (c *call) reset() {
	c.items, c.owners, c.keys = c.items[:0], c.owners[:0], c.keys[:0]
	c.now, c.lines, c.err = 0, "", nil
	c.grouped, c.refused, c.asking, c.alone, c.hops = false, false, false, false, 0
	c.state.Store(waiting)
}

// prepare reads a share of req, whose keyless asks have their answers already.
func (c *call) prepare(req *backend.Request, answers []backend.Answer, keys *keyer, mine share) {
	c.reset()
	for i := range req.Asks {
		ask := &req.Asks[i]
		if answers[i].Source != 0 {
			c.owners = append(c.owners, keyless)
			continue
		}
		if !mine.has(i) {
			c.owners = append(c.owners, elsewhere)
			continue
		}
		start := len(c.keys)
		c.keys = keys.appendKey(c.keys, ask.Key)
		c.owners = append(c.owners, len(c.items))
		p := priced{rule: ask.Rule, hits: ask.Hits, countRefused: req.Charge == backend.CountRefused && ask.Rule.CountRefused}
		c.items = append(c.items, item{priced: p, start: start, end: len(c.keys), prev: -1})
	}
	c.cutKeys()
	c.grouped = req.Charge == backend.Look || req.Charge == backend.AllOrNothing && len(req.Asks) > 1
	if c.grouped {
		c.link()
		c.form(req, answers)
	} else if len(c.items) == 1 {
		c.items[0].lone = true
	}
}

func (c *call) cutKeys() {
	for i := range c.items {
		c.items[i].key = c.keys[c.items[i].start:c.items[i].end]
	}
}

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

// form gathers what the verdict depends on.
func (c *call) form(req *backend.Request, answers []backend.Answer) {
	g := &c.group
	*g = group{modes: g.modes[:0], owners: g.owners[:0]}
	if req.Charge == backend.Look {
		g.mode |= looks
	}
	if slices.ContainsFunc(c.items, func(it item) bool { return it.prev >= 0 }) {
		g.mode |= tellsBoth
	}
	if req.QuotaPass {
		g.quotas = 1
	}
	for i := range req.Asks {
		ask := &req.Asks[i]
		if c.owners[i] == elsewhere {
			if ask.Mode&backend.Quota != 0 {
				g.quotas++ // it may pass
			}
			continue
		}
		if c.owners[i] != keyless {
			g.modes = append(g.modes, scriptMode(ask))
			g.owners = append(g.owners, int64(c.owners[i])+1)
			continue
		}
		refused := ask.Mode&backend.Shadow == 0 &&
			(answers[i].Err == nil && !answers[i].Allowed || answers[i].Err != nil && ask.Rule.OnError == backend.OnErrorDeny)
		switch {
		case ask.Mode&backend.Quota != 0:
			g.quotas++
			if refused {
				g.quotasOver++
			}
		case refused:
			g.over = 1
		}
	}
}

func scriptMode(ask *backend.Ask) int64 {
	var mode int64
	if ask.Mode&backend.Shadow != 0 {
		mode |= modeShadow
	}
	if ask.Mode&backend.Quota != 0 {
		mode |= modeQuota
	}
	if ask.Rule.OnError == backend.OnErrorDeny {
		mode |= modeDeny
	}
	return mode
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
