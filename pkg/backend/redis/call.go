package redis

import (
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
