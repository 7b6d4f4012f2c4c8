package local

import (
	"cmp"
	"math"
	"slices"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// link finds the asks for the same key. Those whose rules decide alike are added
// up and decided by the first; those with another one start, in order, from what
// the one before would leave.
func (b *batch) link() {
	if len(b.items) < 2 {
		return
	}
	order := make([]int, 0, few)
	for i := range b.items {
		if b.items[i].rule().Layout() != algorithms.Stateless {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := &b.items[i].hash, &b.items[j].hash
		return cmp.Or(cmp.Compare(x.hi, y.hi), cmp.Compare(x.lo, y.lo), i-j)
	})
	for k := 1; k < len(order); k++ {
		tail := order[k-1]
		if b.items[tail].hash == b.items[order[k]].hash && b.join(order[k], tail) {
			order[k] = tail
		}
	}
}

// join adds item i to the chain of items for its key that ends with tail. It
// says whether the chain still ends there, since an item in it decides for i.
func (b *batch) join(i, tail int) bool {
	it := &b.items[i]
	for lead := tail; lead >= 0; lead = b.items[lead].prev {
		if b.items[lead].ask.Rule.Same(it.ask.Rule) {
			b.items[lead].hits = sum(b.items[lead].hits, it.hits)
			it.lead = lead
			return true
		}
	}
	it.prev, b.items[tail].last = tail, false
	return false
}

// sum is a + b, or the nearest int64.
func sum(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	default:
		return a + b
	}
}
