package algorithms

import (
	"math"
	"math/big"
	"testing"
)

func TestWide(t *testing.T) {
	t.Parallel()
	type factors struct{ a, b, add, c int64 }
	tests := []factors{
		{0, math.MaxInt64, 0, 1},
		{math.MaxInt64, math.MaxInt64, 0, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 1 << 40, math.MaxInt64, math.MaxInt64}, // the sum carries
		{1 << 32, 1 << 31, 1<<32 - 1, 3},
	}
	w := randomWalk(1, 4000)
	for !w.done() {
		c := w.count(math.MaxInt64)
		tests = append(tests, factors{w.below(c), w.count(math.MaxInt64), w.below(c), c})
	}
	for _, f := range tests {
		quo, rem := mulAddDiv(f.a, f.b, f.add, f.c)
		product := new(big.Int).Mul(big.NewInt(f.a), big.NewInt(f.b))
		wantQuo, wantRem := new(big.Int).DivMod(new(big.Int).Add(product, big.NewInt(f.add)), big.NewInt(f.c), new(big.Int))
		if quo != wantQuo.Int64() || rem != wantRem.Int64() {
			t.Errorf("%+v: quotient %d, remainder %d, want %d and %d", f, quo, rem, wantQuo, wantRem)
		}
		want := product.Cmp(new(big.Int).Mul(big.NewInt(f.add), big.NewInt(f.c)))
		if got := cmpProducts(f.a, f.b, f.add, f.c); got != want {
			t.Errorf("%+v: comparing the products says %d, want %d", f, got, want)
		}
	}
}
