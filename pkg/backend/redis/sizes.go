package redis

import (
	"math/bits"
	"sync/atomic"
)

// BatchSizes are how many trips to a node had at most 1, 2, 4, … 64, 128 asks, and
// more.
type BatchSizes [9]uint64

// sizes counts trips by their asks.
type sizes struct {
	trips [len(BatchSizes{})]atomic.Uint64
	asks  atomic.Uint64
}

func (s *sizes) count(asks int) {
	s.asks.Add(uint64(asks)) //nolint:gosec // not negative
	s.trips[min(bits.Len(uint(max(asks, 1)-1)), len(BatchSizes{})-1)].Add(1)
}

func (s *sizes) read() (trips BatchSizes, asks uint64) {
	for i := range s.trips {
		trips[i] = s.trips[i].Load()
	}
	return trips, s.asks.Load()
}
