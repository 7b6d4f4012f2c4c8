package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check walks a store that nobody uses and wants everything where it belongs.
func check(t *testing.T, l *Local) {
	t.Helper()
	for i := range l.shards {
		s := &l.shards[i]
		checkTable(t, &s.table)
		if s.promised != 0 || s.table.keys > s.maxKeys {
			t.Errorf("shard %d of %d keys at most holds %d and promises %d", i, s.maxKeys, s.table.keys, s.promised)
		}
		large := 0
		s.table.each(func(p *page, i int) {
			if p.layouts[i]&pinned != 0 {
				t.Error("an entry is left pinned")
			}
			if !isLarge(p.layouts[i]) {
				return
			}
			large++
			if at := p.entries[i].state[0]; s.side[at].hash != p.entries[i].hash {
				t.Errorf("place %d of the side store is another key's", at)
			}
		})
		if large != len(s.side) {
			t.Errorf("side store holds %d states of %d keys", len(s.side), large)
		}
	}
}

func (t *table) each(visit func(p *page, i int)) {
	for at := uint64(0); at < uint64(len(t.dir)); {
		p := t.dir[at]
		for i := range int(p.used) {
			visit(p, i)
		}
		at += 1 << (t.depth - p.depth)
	}
}

func checkTable(t *testing.T, table *table) {
	t.Helper()
	keys, deepest := 0, 0
	for at := 0; at < len(table.dir); {
		p := table.dir[at]
		width := 1 << (table.depth - p.depth)
		if at%width != 0 {
			t.Fatalf("page of depth %d begins at place %d of depth %d", p.depth, at, table.depth)
		}
		for i := range width {
			if table.dir[at+i] != p {
				t.Fatalf("page of depth %d is not at place %d of depth %d", p.depth, at+i, table.depth)
			}
		}
		if p.depth == table.depth {
			deepest++
		}
		keys += int(p.used)
		at += width
	}
	table.each(func(p *page, i int) {
		h := p.entries[i].hash
		if q, j := table.find(h); q != p || j != i {
			t.Errorf("hash %x is not found where it is", h)
		}
	})
	if diff := cmp.Diff([]int{keys, deepest}, []int{table.keys, table.deepest}); diff != "" && len(table.dir) > 0 {
		t.Errorf("keys and deepest pages (-counted +kept):\n%s", diff)
	}
	if len(table.dir) == 0 && table.keys > 0 {
		t.Errorf("table without pages keeps %d keys", table.keys)
	}
}
