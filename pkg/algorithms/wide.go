package algorithms

import (
	"cmp"
	"math/bits"
)

// mulDiv is a*b/c and its remainder, for a, b >= 0, c > 0 and a quotient that
// fits int64. The product has 128 bits.
func mulDiv(a, b, c int64) (quo, rem int64) { return mulAddDiv(a, b, 0, c) }

// mulAddDiv is (a*b+add)/c and its remainder, under the conditions of mulDiv.
func mulAddDiv(a, b, add, c int64) (quo, rem int64) {
	hi, lo := bits.Mul64(unsigned(a), unsigned(b))
	lo, carry := bits.Add64(lo, unsigned(add), 0)
	q, r := bits.Div64(hi+carry, lo, unsigned(c))
	return signed(q), signed(r)
}

// cmpProducts is the sign of a*b - c*d, for factors >= 0.
func cmpProducts(a, b, c, d int64) int {
	hi1, lo1 := bits.Mul64(unsigned(a), unsigned(b))
	hi2, lo2 := bits.Mul64(unsigned(c), unsigned(d))
	return cmp.Or(cmp.Compare(hi1, hi2), cmp.Compare(lo1, lo2))
}

func unsigned(n int64) uint64 { return uint64(n) } //nolint:gosec // none here is negative

func signed(n uint64) int64 { return int64(n) } //nolint:gosec // what is divided here fits
