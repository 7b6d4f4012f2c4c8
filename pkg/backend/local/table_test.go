package local

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestPageSize(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(page{}); size > pageBytes {
		t.Errorf("page takes %d bytes, want at most %d", size, pageBytes)
	}
	if size := unsafe.Sizeof(large{}); size != largeBytes {
		t.Errorf("place in a side store takes %d bytes, not %d", size, largeBytes)
	}
}

// TestUsedPage shows its fault only in memory that the system did not clear.
func TestUsedPage(t *testing.T) {
	t.Parallel()
	a := new(arena)
	defer a.close()
	p := a.alloc()
	p.depth, p.used = 3, 1
	a.release(p)
	if p := a.alloc(); p.depth != 0 || p.used != 0 {
		t.Errorf("page has depth %d and %d entries when it is used again", p.depth, p.used)
	}
}

// TestTable grows, thins and empties tables beside a map; where prefixes are few,
// pages of very different depths meet.
func TestTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		prefixes uint64
	}{
		{"even", 1 << 10},
		{"clustered", 3},
		{"in one place", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, test.prefixes))
			a := new(arena)
			s := &shard{table: table{arena: a}}
			kept := map[hash]int64{}
			for round := range 8 {
				for range 3000 {
					h := hash{random.Uint64N(test.prefixes)<<54 | random.Uint64N(1<<54), random.Uint64()}
					p, i := s.table.insert(&entry{hash: h, full: 1 + random.Int64N(8)})
					kept[h] = p.entries[i].full
				}
				now := int64(round)
				sweepAll(s, now)
				for h, full := range kept {
					p, i := s.table.find(h)
					if found := p != nil; found != (full > now) {
						t.Fatalf("entry that is full at %d is found at %d: %t", full, now, found)
					}
					if p != nil && p.entries[i].full != full {
						t.Fatalf("entry is full at %d, want %d", p.entries[i].full, full)
					}
					if full <= now {
						delete(kept, h)
					}
				}
				checkTable(t, &s.table)
			}
			sweepAll(s, 9)
			if s.table.keys != 0 || len(s.table.dir) != 0 || a.inUse.Load() != 0 {
				t.Errorf("emptied table has %d keys, %d places, %d pages", s.table.keys, len(s.table.dir), a.inUse.Load())
			}
			a.close()
		})
	}
}

func sweepAll(s *shard, now int64) {
	for hi := s.sweep(0, now); hi > 0; {
		hi = s.sweep(hi, now)
	}
}
