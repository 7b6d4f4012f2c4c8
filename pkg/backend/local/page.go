package local

import (
	"bytes"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// pageBytes is what a page takes in the arena: the memory that the system gives
// and takes back as one.
const pageBytes = 4096

// slots is how many entries fit in a page.
const slots = 70

// pinned marks, beside an entry's layout, a key that the request at hand needs.
const pinned algorithms.Layout = 1 << 7

// hash stands for a key. The high bits of hi lead to the page, the low bits of
// lo to the shard, and the high bits of lo are the tag.
type hash struct{ hi, lo uint64 }

func (h hash) tag() uint8 { return uint8(h.lo >> 56) }

// entry is what is kept of one key. Sweeper and evictor judge it by its two
// instants, so that they need no rule.
type entry struct {
	hash    hash
	state   algorithms.State // or, of a log or counts, the place in the side store
	full    int64            // from when the state says nothing any more, ns
	limited int64            // until when a single hit is refused, ns; 0 = it is not
}

// page holds entries whose hashes begin with the same bits. Its used entries lie
// at the front. It has no pointers, so that it may lie outside the Go heap.
type page struct {
	depth   uint8 // how many bits of the hash its entries have in common
	used    uint8
	tags    [slots]uint8
	layouts [slots]algorithms.Layout
	entries [slots]entry
}

// find returns the slot of h, or -1.
func (p *page) find(h hash) int {
	tags := p.tags[:p.used]
	for i := 0; ; i++ {
		next := bytes.IndexByte(tags[i:], h.tag())
		if next < 0 {
			return -1
		}
		i += next
		if p.entries[i].hash == h {
			return i
		}
	}
}

// add appends an entry and returns its slot; the page must not be full.
func (p *page) add(e *entry, layout algorithms.Layout) int {
	i := int(p.used)
	p.used++
	p.tags[i] = e.hash.tag()
	p.layouts[i] = layout
	p.entries[i] = *e
	return i
}

// remove fills slot i with the last entry.
func (p *page) remove(i int) {
	p.used--
	last := int(p.used)
	p.tags[i] = p.tags[last]
	p.layouts[i] = p.layouts[last]
	p.entries[i] = p.entries[last]
}

// moveTo moves to q every entry whose hash has the given bit of hi set; all of
// them if bit is 0.
func (p *page) moveTo(q *page, bit uint64) {
	for i := int(p.used) - 1; i >= 0; i-- {
		if p.entries[i].hash.hi&bit == bit {
			q.add(&p.entries[i], p.layouts[i])
			p.remove(i)
		}
	}
}

// end is the first hash prefix after those that lead to p, of which hi is one; 0
// after the last page.
func (p *page) end(hi uint64) uint64 { return (hi | (1<<(64-p.depth) - 1)) + 1 }
