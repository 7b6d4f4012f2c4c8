package local

import (
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// locate reads what is kept of item i's key. While a request has several items,
// their entries are pinned, so that none becomes another one's victim.
func (b *batch) locate(i int) {
	it := &b.items[i]
	if it.lead != i {
		return
	}
	layout := it.rule().Layout()
	p, slot := it.shard.table.find(it.hash)
	if p == nil {
		it.from = fresh(layout)
		return
	}
	it.from = it.shard.read(p, slot, layout)
	it.page, it.slot = p, slot
	b.pin(it)
}

func (b *batch) pin(it *item) {
	if len(b.items) > 1 {
		it.page.layouts[it.slot] |= pinned
	}
}

// room finds out where the state of item i would be kept if its key is new:
// where there is room, in place of a victim, or in the state that all such keys
// share. A look takes nobody's place.
func (b *batch) room(i int) {
	it := &b.items[i]
	if it.lead != i || it.page != nil || it.rule().Layout() == algorithms.Stateless {
		return
	}
	if it.prev >= 0 {
		prev := &b.items[it.prev]
		if prev.shared == nil {
			it.page, it.slot, it.evict, it.victim = prev.page, prev.slot, prev.evict, prev.victim
			return
		}
		prev.last, it.prev = true, -1
	}
	s := it.shard
	if s.table.keys+s.promised < s.maxKeys {
		s.promised++
		return
	}
	if it.hits != 0 && b.req.Charge != backend.Look {
		if it.page, it.slot = s.victim(it.hash, b.now); it.page != nil {
			it.evict, it.victim = true, it.page.entries[it.slot].hash
			b.pin(it)
			return
		}
	}
	b.share(i)
}

// share makes item i start from the overflow state of its rule, or from what an
// earlier item would leave of it. Both write there, the later one last.
func (b *batch) share(i int) {
	it, o := &b.items[i], b.store.overflow
	if !b.overflow {
		o.mu.Lock()
		b.overflow = true
	}
	o.decisions++
	it.shared = o.state(it.ask.Rule)
	it.from = it.shared.value
	it.prev, it.shared.last = it.shared.last, i
}

// unmark takes back the marks of a plan: pins, promises and ends of chains. It
// comes before any entry moves.
func (b *batch) unmark(items []item) {
	for i := range items {
		it := &items[i]
		it.shard.promised = 0
		if it.page != nil {
			it.page.layouts[it.slot] &^= pinned
		}
		if it.shared != nil {
			it.shared.last = -1
		}
	}
}

// commit writes the outcomes of items: first those whose entries stay where they
// are, then those that move entries.
func (b *batch) commit(items []item) {
	for i := range items {
		if it := &items[i]; it.last && it.stays() && (it.to.changed || it.newlyLimited(b.now)) {
			b.keep(it, it.page, it.slot)
		}
	}
	for i := range items {
		if it := &items[i]; it.last && it.to.changed && !it.stays() {
			b.move(it)
		}
	}
}

// stays says whether the key has an entry and still needs it.
func (it *item) stays() bool { return it.page != nil && !it.evict && it.to.ResetAfter > 0 }

// newlyLimited says whether the key is at its limit and the entry does not know,
// since the limit fell after it was written.
func (it *item) newlyLimited(now int64) bool {
	return it.to.Remaining == 0 && it.page.entries[it.slot].limited <= now
}

// move writes an outcome that begins or ends an entry, or goes to the overflow.
func (b *batch) move(it *item) {
	t := &it.shard.table
	switch {
	case it.shared != nil:
		it.from.apply(&it.to)
		it.shared.value, it.shared.full = it.from, after(b.now, it.to.ResetAfter)
	case it.to.ResetAfter == 0:
		if p, i := t.find(it.hash); p != nil {
			it.shard.remove(p, i)
		}
	default:
		if it.evict {
			it.shard.giveUp(it.victim, b.now)
		}
		p, i := t.insert(&entry{hash: it.hash})
		b.keep(it, p, i)
	}
}

// keep writes an outcome to its entry.
func (b *batch) keep(it *item, p *page, i int) {
	it.from.apply(&it.to)
	it.shard.write(p, i, it.rule().Layout(), &it.from)
	e := &p.entries[i]
	e.full = after(b.now, it.to.ResetAfter)
	limited := it.from.limitedUntil(it.rule(), b.now, it.to.Remaining)
	if it.hits >= 0 { // a charge under another limit does not make the key forgettable
		limited = max(limited, e.limited)
	}
	e.limited = limited
}
