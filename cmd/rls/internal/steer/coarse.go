package steer

import (
	"slices"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// What a row in Redis may hold, so that no reporter makes it long enough for others
// to wait: at most mostCells*24 + mostSeen*200 bytes, half a MiB, in practice half of
// that.
const (
	mostSeen     = 1000  // reporters; the book has no more
	mostCells    = 16384 // buckets of all their sketches
	mostOfSketch = 64    // of these, for one sketch where there are few
	leastOfOne   = 16    // and for one where there are many
)

// cellsOf is how many buckets each of so many sketches may have.
func cellsOf(sketches int) int {
	return max(leastOfOne, min(mostOfSketch, mostCells/max(1, sketches)))
}

// bin is a bucket in use.
type bin struct {
	bucket int
	count  uint64
	stays  bool
}

// coarse is a sketch of at most so many buckets, leastOfOne or more. Its quantiles
// 0.5 and 0.99, by which limits are steered, are those of s: the buckets about them
// stay, and of others each is the median of some neighbours.
func coarse(s *adaptive.Sketch, most int) adaptive.Sketch {
	var bins []bin
	for bucket, n := range s.All() {
		bins = append(bins, bin{bucket: bucket, count: n})
	}
	if len(bins) <= most {
		return *s
	}
	near := most / 16 //nolint:mnd // an eighth of them, and one, for each quantile
	rest := len(bins) - stay(bins, s, 0.5, near) - stay(bins, s, 0.99, near)
	groups := most - 2*(2*near+1) - 3     // as three may end early: before, between and behind those that stay
	width := (rest + groups - 1) / groups // buckets of a group
	var result adaptive.Sketch
	for i := 0; i < len(bins); {
		end := i + 1
		for !bins[i].stays && end < len(bins) && !bins[end].stays && end-i < width {
			end++
		}
		add(&result, bins[i:end])
		i = end
	}
	return result
}

// stay has the buckets stay about that of a quantile, and says how many did not yet.
func stay(bins []bin, s *adaptive.Sketch, q float64, near int) (more int) {
	seconds, _ := s.Quantile(q)
	bucket := adaptive.Bucket(seconds)
	at := slices.IndexFunc(bins, func(b bin) bool { return b.bucket == bucket })
	for i := max(0, at-near); i <= min(len(bins)-1, at+near); i++ {
		if !bins[i].stays {
			bins[i].stays = true
			more++
		}
	}
	return more
}

// add adds some neighbours as their median.
func add(s *adaptive.Sketch, bins []bin) {
	var group adaptive.Sketch
	for _, b := range bins {
		group.Add(b.bucket, b.count)
	}
	seconds, _ := group.Quantile(0.5) //nolint:mnd // the median
	s.Add(adaptive.Bucket(seconds), group.Count())
}
