package local

import (
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// sample is how many entries are looked at for one to give up.
const sample = 8

// What a place in a directory and one in a side store take.
const (
	dirBytes   = 8
	largeBytes = 40
)

// shard is a part of the keys under one lock.
type shard struct {
	mu        sync.Mutex
	table     table
	side      []large // the states that do not fit in an entry, without gaps
	sideBytes int64   // that these states take themselves
	maxKeys   int
	promised  int   // keys that the request at hand may add
	evictions int64 // keys given up while they said something
	_         cpu.CacheLinePad
}

// large is a state in the side store, and whose it is.
type large struct {
	hash   hash
	log    *algorithms.Log
	counts *algorithms.Counts
	bytes  int64 // that it takes itself
}

func isLarge(layout algorithms.Layout) bool {
	return layout == algorithms.InLog || layout == algorithms.InCounts
}

// read is the value of an entry, fresh if it has another layout.
func (s *shard) read(p *page, i int, layout algorithms.Layout) value {
	e := &p.entries[i]
	switch {
	case p.layouts[i]&^pinned != layout:
		return fresh(layout)
	case isLarge(layout):
		l := &s.side[e.state[0]]
		return value{log: l.log, counts: l.counts}
	default:
		return value{state: e.state}
	}
}

// write makes v the value of an entry.
func (s *shard) write(p *page, i int, layout algorithms.Layout, v *value) {
	e := &p.entries[i]
	if p.layouts[i] != layout {
		s.forget(p, i)
		p.layouts[i] = layout
		if isLarge(layout) {
			e.state[0] = int64(len(s.side))
			s.side = append(s.side, large{hash: e.hash})
		}
	}
	if isLarge(layout) {
		l := &s.side[e.state[0]]
		n := v.bytes()
		s.sideBytes += n - l.bytes
		l.log, l.counts, l.bytes = v.log, v.counts, n
		return
	}
	e.state = v.state
}

// remove deletes a key.
func (s *shard) remove(p *page, i int) {
	s.forget(p, i)
	s.table.remove(p, i)
}

// giveUp deletes the victim h.
func (s *shard) giveUp(h hash, now int64) {
	p, i := s.table.find(h)
	if p == nil {
		return
	}
	if p.entries[i].full > now {
		s.evictions++
	}
	s.remove(p, i)
}

// forget drops what an entry has in the side store. The last one there takes its
// place, and the store shrinks when it is mostly empty.
func (s *shard) forget(p *page, i int) {
	if !isLarge(p.layouts[i]) {
		return
	}
	at, last := p.entries[i].state[0], len(s.side)-1
	s.sideBytes -= s.side[at].bytes
	s.side[at] = s.side[last]
	if q, j := s.table.find(s.side[at].hash); q != nil {
		q.entries[j].state[0] = at
	}
	s.side[last] = large{}
	s.side = s.side[:last]
	if cap(s.side) > 4*last {
		s.side = append(make([]large, 0, 2*last), s.side...)
	}
}

// victim is the entry to give up for a new key h: out of a sample near h, the
// one whose state says nothing soonest, but none that is at its limit, since to
// forget that would be to forgive it.
func (s *shard) victim(h hash, now int64) (*page, int) {
	if len(s.table.dir) == 0 {
		return nil, 0
	}
	var best *page
	var slot int
	hi, seen := h.hi, 0
	for range sample {
		p := s.table.dir[s.table.place(hi)]
		for k := range min(int(p.used), sample-seen) {
			i := (int(h.lo>>32&0xff) + k) % int(p.used)
			e := &p.entries[i]
			if e.limited > now || p.layouts[i]&pinned != 0 {
				continue
			}
			if best == nil || e.full < best.entries[slot].full {
				best, slot = p, i
			}
		}
		if seen += int(p.used); seen >= sample {
			break
		}
		hi = p.end(hi)
	}
	return best, slot
}

// sweep deletes what says nothing any more in the page of hi, merges what became
// sparse, and returns the first hi of the next page, or 0 after the last.
func (s *shard) sweep(hi uint64, now int64) uint64 {
	if len(s.table.dir) == 0 {
		return 0
	}
	p := s.table.dir[s.table.place(hi)]
	next := p.end(hi)
	for i := int(p.used) - 1; i >= 0; i-- {
		if p.entries[i].full <= now {
			s.remove(p, i)
		}
	}
	for s.table.merge(hi) {
	}
	return next
}

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Keys += s.table.keys
	stats.MaxKeys += s.maxKeys
	stats.Evictions += s.evictions
	stats.MemoryBytes += int64(cap(s.table.dir))*dirBytes + int64(cap(s.side))*largeBytes + s.sideBytes
}
