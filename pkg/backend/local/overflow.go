package local

import (
	"sync"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// overflow holds the states that new keys share while the store is full of keys
// at their limit. Its lock is taken after those of all shards.
type overflow struct {
	mu        sync.Mutex
	states    map[overflowKey]*overflowState
	decisions int64
}

// overflowKey keeps apart what cannot share a state.
type overflowKey struct {
	group   uint64
	layout  algorithms.Layout
	window  int64 // ns
	buckets int64
}

type overflowState struct {
	value
	full int64 // from when the state says nothing any more, ns
	last int   // the item of the request at hand that decided on it last, or -1
}

// state returns the state that new keys of the rule share.
func (o *overflow) state(rule *backend.Rule) *overflowState {
	limit := rule.Limit
	key := overflowKey{rule.Group, limit.Layout(), int64(limit.Window()), limit.Buckets()}
	state := o.states[key]
	if state == nil {
		if o.states == nil {
			o.states = map[overflowKey]*overflowState{}
		}
		state = &overflowState{value: fresh(key.layout), last: -1}
		o.states[key] = state
	}
	return state
}

// sweep deletes states that say nothing any more, out of at most 256: since maps
// are walked from a random place, all get their turn.
func (o *overflow) sweep(now int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	budget := 256
	for key, state := range o.states {
		if state.full <= now {
			delete(o.states, key)
		}
		if budget--; budget == 0 {
			break
		}
	}
	if len(o.states) == 0 {
		o.states = nil // a map keeps its size
	}
}

func (o *overflow) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.states = nil
}
