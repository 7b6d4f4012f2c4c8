package adaptive

import (
	"iter"
	"math"
	"slices"
)

// Sketch counts latencies by bucket. The zero value is empty. It takes 16 bytes
// for each bucket in use, whatever the counts, and its counts stop at 2^64-1.
// A copy shares its buckets with the original: after it, change neither.
type Sketch struct {
	cells []cell // ascending, none of them empty
	total uint64
}

type cell struct {
	bucket int
	count  uint64
}

// Add counts n latencies of a bucket. An index out of range counts as the
// nearest one within.
func (s *Sketch) Add(bucket int, n uint64) {
	if n == 0 {
		return
	}
	bucket = max(0, min(bucket, LastBucket))
	s.total = plus(s.total, n)
	i, found := s.find(bucket)
	if found {
		s.cells[i].count = plus(s.cells[i].count, n)
		return
	}
	s.cells = slices.Insert(s.cells, i, cell{bucket, n})
}

func (s *Sketch) find(bucket int) (int, bool) {
	return slices.BinarySearchFunc(s.cells, bucket, func(c cell, b int) int { return c.bucket - b })
}

// Merge adds the counts of o, which it leaves as it is.
func (s *Sketch) Merge(o *Sketch) {
	if len(s.cells) == 0 {
		s.cells, s.total = slices.Clone(o.cells), o.total
		return
	}
	for bucket, n := range o.All() {
		s.Add(bucket, n)
	}
}

// Equal says that two sketches count the same.
func (s Sketch) Equal(o Sketch) bool { return slices.Equal(s.cells, o.cells) }

// Count is the number of latencies counted, at most 2^64-1.
func (s *Sketch) Count() uint64 { return s.total }

// All walks the buckets in use, lowest first, with their counts.
func (s *Sketch) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for _, c := range s.cells {
			if !yield(c.bucket, c.count) {
				return
			}
		}
	}
}

// Quantile is the latency, in seconds, that the share q of the samples does not
// exceed, within 1.1 %. It is false for an empty sketch.
func (s *Sketch) Quantile(q float64) (seconds float64, ok bool) {
	want, seen := rank(q, s.total), uint64(0)
	for bucket, n := range s.All() {
		if seen = plus(seen, n); seen >= want {
			return Middle(bucket), true
		}
	}
	return 0, false
}

// rank is the place of the quantile q among n sorted samples, counted from 1.
func rank(q float64, n uint64) uint64 {
	place := math.Ceil(bounded(q, 1) * float64(n))
	if place >= float64(n) { // n itself where the product is beyond uint64
		return max(1, n)
	}
	return max(1, uint64(place))
}

// TwoPoint is a sketch of n samples whose quantiles 0.5 and 0.99 are the
// buckets of p50 and p99 seconds: what a reporter has that knows only these. A
// p99 below p50 counts as p50, a single sample is at p50.
func TwoPoint(n uint64, p50, p99 float64) Sketch {
	var s Sketch
	if n == 0 {
		return s
	}
	below := n // samples below the quantile 0.99
	if n > 1 {
		below = rank(0.99, n) - 1
	}
	s.Add(Bucket(p50), below)
	s.Add(max(Bucket(p50), Bucket(p99)), n-below)
	return s
}

// plus adds, and stops at 2^64-1.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
