package algorithms

import "sort"

// Log is the state of a SlidingLog: the instants of its hits in a ring, oldest
// first. The zero Log is a key that was never seen.
type Log struct {
	ring []int64
	head int // place of the oldest
	size int
}

// LogEdit is what a decision wants to change in a Log. The zero LogEdit changes
// nothing.
type LogEdit struct {
	now     int64
	limit   int // entries that the log may have at most
	clamp   int // newest entries that become now
	expired int // oldest entries that go
	refund  int // newest entries that go
	hits    int // entries of now that come
}

// Clone is a copy that shares nothing with l.
func (l *Log) Clone() *Log {
	return &Log{ring: append([]int64(nil), l.ring...), head: l.head, size: l.size}
}

// Bytes is the memory that l's entries take.
func (l *Log) Bytes() int64 { return int64(cap(l.ring)) * 8 }

// Apply carries out an edit that was decided on l as it is.
func (l *Log) Apply(e LogEdit) {
	for i := l.size - e.clamp; i < l.size; i++ {
		l.ring[l.place(i)] = e.now
	}
	l.head = l.place(e.expired)
	l.size -= e.expired + e.refund
	l.grow(l.size+e.hits, e.limit)
	for range e.hits {
		l.ring[l.place(l.size)] = e.now
		l.size++
	}
}

// grow makes room for need entries, by doubling up to limit.
func (l *Log) grow(need, limit int) {
	if need <= len(l.ring) {
		return
	}
	ring := make([]int64, max(need, min(max(4, 2*len(l.ring)), limit)))
	n := copy(ring, l.ring[l.head:])
	copy(ring[n:], l.ring[:l.head])
	l.ring, l.head = ring, 0
}

func (l *Log) place(i int) int {
	i += l.head
	if i >= len(l.ring) {
		i -= len(l.ring)
	}
	return i
}

func (l *Log) at(i int) int64 { return l.ring[l.place(i)] }

// until is the number of entries that are not after t.
func (l *Log) until(t int64) int {
	return sort.Search(l.size, func(i int) bool { return l.at(i) > t })
}
