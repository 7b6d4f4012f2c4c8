package local

import "github.com/eb50146d/rls/pkg/algorithms"

// sparse is how many entries two buddy pages may hold together to be merged:
// half a page, so that the merged one does not soon split again.
const sparse = slots / 2

// table finds entries by their hash. It is an extendible hash table: a directory
// of 1<<depth places, indexed by the first bits of the hash, leads to pages, and
// a page that shares fewer bits stands at several places in a row. A full page
// splits in two and sparse buddies merge, so no step moves more than a page of
// entries, and only the directory is ever copied as a whole.
type table struct {
	arena   *arena
	dir     []*page // empty when there are no keys
	depth   uint8
	deepest int // pages of the directory's own depth; without any it can be halved
	keys    int
}

func (t *table) place(hi uint64) uint64 { return hi >> (64 - t.depth) }

// find returns the page and slot of h, or nil.
func (t *table) find(h hash) (*page, int) {
	if len(t.dir) == 0 {
		return nil, 0
	}
	p := t.dir[t.place(h.hi)]
	if i := p.find(h); i >= 0 {
		return p, i
	}
	return nil, 0
}

// insert adds an entry without a layout for a key that is not there.
func (t *table) insert(e *entry) (*page, int) {
	if len(t.dir) == 0 {
		t.dir = []*page{t.arena.alloc()}
		t.depth, t.deepest = 0, 1
	}
	p := t.dir[t.place(e.hash.hi)]
	for p.used == slots {
		t.split(p, e.hash.hi)
		p = t.dir[t.place(e.hash.hi)]
	}
	t.keys++
	i := p.add(e, algorithms.Stateless)
	return p, i
}

// remove deletes the entry; the page stays even if it is empty, for the sweeper.
func (t *table) remove(p *page, i int) {
	p.remove(i)
	t.keys--
}

// split halves the full page of hi.
func (t *table) split(p *page, hi uint64) {
	if p.depth == t.depth {
		t.double()
	}
	first, width := t.span(p, hi)
	q := t.arena.alloc()
	p.depth++
	q.depth = p.depth
	p.moveTo(q, 1<<(64-p.depth))
	fill(t.dir[first+width/2:first+width], q)
	if p.depth == t.depth {
		t.deepest += 2
	}
}

// span returns where the page of hi stands in the directory, and how often.
func (t *table) span(p *page, hi uint64) (first, width uint64) {
	width = 1 << (t.depth - p.depth)
	return t.place(hi) &^ (width - 1), width
}

func (t *table) double() {
	dir := make([]*page, 2*len(t.dir))
	for i, p := range t.dir {
		dir[2*i], dir[2*i+1] = p, p
	}
	t.dir, t.deepest = dir, 0
	t.depth++
}

// merge joins the page of hi with its buddy if both are sparse, and frees an
// empty table's last page. It says whether it did.
func (t *table) merge(hi uint64) bool {
	p := t.dir[t.place(hi)]
	if p.depth == 0 {
		if p.used == 0 {
			t.arena.release(p)
			t.dir = nil
		}
		return false
	}
	buddy := t.dir[t.place(hi^1<<(64-p.depth))]
	if buddy.depth != p.depth || p.used+buddy.used > sparse {
		return false
	}
	if p.depth == t.depth {
		t.deepest -= 2
	}
	buddy.moveTo(p, 0)
	p.depth--
	first, width := t.span(p, hi)
	fill(t.dir[first:first+width], p)
	t.arena.release(buddy)
	for t.deepest == 0 {
		t.halve()
	}
	return true
}

func (t *table) halve() {
	dir := make([]*page, len(t.dir)/2)
	t.depth--
	for i := range dir {
		dir[i] = t.dir[2*i]
		if dir[i].depth == t.depth {
			t.deepest++
		}
	}
	t.dir = dir
}

func fill(places []*page, p *page) {
	for i := range places {
		places[i] = p
	}
}
