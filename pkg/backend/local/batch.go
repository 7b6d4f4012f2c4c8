package local

import (
	"math/bits"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// batch is one request under decision, with the locks of all shards that it needs.
type batch struct {
	store    *Local
	req      *backend.Request
	answers  []backend.Answer
	items    []item                 // one an ask, in order
	shards   [maxShards / 64]uint64 // a bit for each shard that is locked
	now      int64                  // read under the locks, so that it runs back for no key
	overflow bool                   // whether the overflow is locked, too
}

// item is an ask on its way to an answer. Items name each other by index.
type item struct {
	ask   *backend.Ask
	hash  hash
	shard *shard
	hits  int64 // those of all asks with this key and rule
	lead  int   // the item that decides for this one: itself, or an earlier one with the same key and rule
	prev  int   // the item whose outcome this one starts from; -1 = what is kept
	last  bool  // whether the outcome is the one to keep: no other item starts from it

	page   *page // where the entry or the victim is; nil = there is none
	slot   int
	evict  bool // whether page and slot are those of a victim
	victim hash
	shared *overflowState // where the state is instead of an entry; nil = nowhere

	from value
	to   outcome
}

func (it *item) rule() *algorithms.Rule { return it.ask.Rule.Limit }

func (b *batch) decide() backend.Verdict {
	b.begin()
	b.lock()
	defer b.unlock()
	b.now = b.store.now()
	switch b.req.Charge {
	case backend.Independent, backend.CountRefused:
		return b.each()
	default:
		return b.together()
	}
}

func (b *batch) begin() {
	for i := range b.items {
		ask, it := &b.req.Asks[i], &b.items[i]
		h := b.store.hash(ask.Key)
		shard := int(h.lo%maxShards) & (len(b.store.shards) - 1)
		b.shards[shard/64] |= 1 << (shard % 64)
		it.ask, it.hash, it.shard, it.hits = ask, h, &b.store.shards[shard], ask.Hits
		it.lead, it.prev, it.last = i, -1, true
	}
}

// lock takes the shards' locks in ascending order, so that no two requests wait
// for each other.
func (b *batch) lock() {
	for word, set := range b.shards {
		for ; set != 0; set &= set - 1 {
			b.store.shards[word*64+bits.TrailingZeros64(set)].mu.Lock()
		}
	}
}

func (b *batch) unlock() {
	if b.overflow {
		b.store.overflow.mu.Unlock()
	}
	for word, set := range b.shards {
		for ; set != 0; set &= set - 1 {
			b.store.shards[word*64+bits.TrailingZeros64(set)].mu.Unlock()
		}
	}
}

// each decides and charges the asks one by one.
func (b *batch) each() backend.Verdict {
	for i := range b.items {
		b.locate(i)
		b.room(i)
		b.plan(i, b.items[i].hits)
		b.answer(i)
		b.unmark(b.items[i : i+1])
		b.commit(b.items[i : i+1])
	}
	return backend.Judge(b.req, b.answers)
}

// together decides all asks before it charges any, and charges by the verdict.
func (b *batch) together() backend.Verdict {
	b.link()
	for i := range b.items {
		b.locate(i)
	}
	for i := range b.items {
		b.room(i)
	}
	for i := range b.items {
		b.plan(i, b.items[i].hits)
		b.answer(i)
	}
	verdict := backend.Judge(b.req, b.answers)
	if verdict == backend.OverLimit {
		b.spare()
	}
	b.unmark(b.items)
	if b.req.Charge != backend.Look {
		b.commit(b.items)
	}
	return verdict
}

// plan decides item i for hits, without writing.
func (b *batch) plan(i int, hits int64) {
	it := &b.items[i]
	if it.lead != i {
		return
	}
	changed := false
	if it.prev >= 0 {
		prev := &b.items[it.prev]
		changed = prev.to.changed
		it.from = prev.leaves(it.rule().Layout())
	}
	it.to = it.from.decide(it.rule(), b.now, hits, b.req.Charge == backend.CountRefused && it.ask.Rule.CountRefused)
	it.to.changed = it.to.changed || changed
}

// leaves is what an item would leave to the next one, fresh if that has another
// layout.
func (it *item) leaves(layout algorithms.Layout) value {
	if it.rule().Layout() != layout {
		return fresh(layout)
	}
	v := it.from
	if it.prev < 0 { // else it started from a copy already, which nobody else needs
		v = v.clone()
	}
	v.apply(&it.to)
	return v
}

// spare plans a refused request anew: only refunds and post-paid charges are
// carried out. Each ask keeps what it thought of itself; what remains is told as
// it then stands.
func (b *batch) spare() {
	for i := range b.items {
		it := &b.items[i]
		hits := it.hits
		if hits > 0 && it.rule().Overdraft() == 0 {
			hits = 0
		}
		thought := it.to.Decision
		b.plan(i, hits)
		it.to.Allowed, it.to.RetryAfter, it.to.Delay = thought.Allowed, thought.RetryAfter, 0
		b.answer(i)
	}
}

// answer fills in the answer to ask i.
func (b *batch) answer(i int) {
	it := &b.items[b.items[i].lead]
	used := it.rule().Capacity() - it.to.Remaining
	if it.rule().Kind() == algorithms.FixedWindow {
		used = it.rule().Used(it.to.state, b.now)
	}
	b.answers[i] = backend.Answer{Decision: it.to.Decision, Now: b.now, Used: used, Source: backend.FromStore}
}
