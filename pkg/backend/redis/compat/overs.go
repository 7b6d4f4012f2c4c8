package compat

import "sync"

// entryBytes is what a key costs beside its text, about.
const entryBytes = 64

// overs remembers what counters held that were over their limit. Windows have
// keys of their own, so what has ended is not asked for again and only takes room.
type overs struct {
	mu    sync.Mutex
	most  int // bytes
	bytes int
	held  map[string]int64
}

func newOvers(most int) *overs { return &overs{most: most, held: map[string]int64{}} }

// recall is what a counter held, if it is over its limit. A nil overs knows none.
func (o *overs) recall(c *counter) (held int64, ok bool) {
	if o == nil || c.adds < 0 {
		return 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	held, ok = o.held[c.key]
	return held, ok && held > c.ask.Rule.Limit.Limit()
}

// learn keeps what a counter holds if that is over its limit or less than before.
func (o *overs) learn(c *counter, held int64) {
	if o == nil || c.adds >= 0 && held <= c.ask.Rule.Limit.Limit() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	size := len(c.key) + entryBytes
	if _, known := o.held[c.key]; known {
		delete(o.held, c.key)
		o.bytes -= size
	}
	if size > o.most {
		return
	}
	for key := range o.held {
		if o.bytes+size <= o.most {
			break
		}
		delete(o.held, key)
		o.bytes -= len(key) + entryBytes
	}
	o.held[c.key] = held
	o.bytes += size
}
