package server

import (
	"math"
	"runtime/debug"
)

// ballastSize is how much garbage gathers at least, in bytes, before it is
// collected. With the few MB that rls otherwise holds Go would collect after as
// much again, many times a second, which is a quarter of what a request costs.
const ballastSize = 16 << 20

// ballast is memory that makes the heap look larger to the collector. Nothing is
// ever written to it, so none of it is resident. Whoever has set GOMEMLIMIT has
// decided otherwise.
func ballast() []byte {
	if debug.SetMemoryLimit(-1) < math.MaxInt64 {
		return nil
	}
	return make([]byte, ballastSize)
}
