package algorithms

import "math/bits"

// mulDiv is a*b/c and its remainder, for a, b >= 0, c > 0 and a quotient that
// fits int64. The product has 128 bits.
func mulDiv(a, b, c int64) (quo, rem int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, r := bits.Div64(hi, lo, uint64(c))
	return int64(q), int64(r)
}

// mulAddDiv is (a*b+add)/c, rounded down, under the conditions of mulDiv.
func mulAddDiv(a, b, add, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(add), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(c))
	return int64(q)
}

// cmpProducts is the sign of a*b - c*d, for factors >= 0.
func cmpProducts(a, b, c, d int64) int {
	hi1, lo1 := bits.Mul64(uint64(a), uint64(b))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(d))
	if hi1 == hi2 {
		hi1, hi2 = lo1, lo2
	}
	switch {
	case hi1 < hi2:
		return -1
	case hi1 > hi2:
		return 1
	default:
		return 0
	}
}
