package algorithms

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
)

// tatUsage is the token bucket of the texts: the instant at which it is full.
type tatUsage struct {
	full  *big.Rat // nil: it is
	limit int64    // under which it was written
}

func (u *tatUsage) used(m *model, t int64) *big.Rat {
	if u.full == nil {
		return new(big.Rat)
	}
	full := u.full
	if u.limit != m.p.Limit {
		full = whole(int64(ceil(new(big.Rat).Quo(full, whole(1000)))) * 1000)
	}
	missing := new(big.Rat).Sub(full, whole(t))
	if missing.Sign() < 0 {
		return new(big.Rat)
	}
	return missing.Quo(missing, m.emission())
}

func (u *tatUsage) write(m *model, now int64, used *big.Rat) {
	u.full, u.limit = nil, m.p.Limit
	if used.Sign() > 0 {
		u.full = new(big.Rat).Mul(used, m.emission())
		u.full.Add(u.full, whole(now))
	}
}

func (u *tatUsage) heal(m *model, now int64) {
	if u.used(m, now).Cmp(m.most()) > 0 {
		u.write(m, now, m.most())
	}
}

func (u *tatUsage) add(m *model, now, hits int64) {
	used := u.used(m, now)
	used.Add(used, whole(hits))
	if used.Cmp(m.most()) > 0 {
		used = m.most()
	}
	u.write(m, now, used)
}

// fixedUsage is hits in a window from start on.
type fixedUsage struct{ start, count int64 }

func (u *fixedUsage) end(m *model) int64 {
	if m.p.FirstHit {
		return u.start + int64(m.p.Window)
	}
	return (u.start/int64(m.p.Window) + 1) * int64(m.p.Window)
}

func (u *fixedUsage) used(m *model, t int64) *big.Rat {
	if t >= u.end(m) {
		return new(big.Rat)
	}
	return whole(u.count)
}

func (u *fixedUsage) heal(m *model, now int64) {
	latest := now
	if !m.p.FirstHit {
		latest = (now/int64(m.p.Window) + 1) * int64(m.p.Window)
	}
	u.start = min(u.start, latest)
}

func (u *fixedUsage) add(m *model, now, hits int64) {
	if u.count == 0 || now >= u.end(m) {
		u.start, u.count = now, 0
	}
	if !m.p.FirstHit {
		u.start = u.end(m) - int64(m.p.Window)
	}
	if hits > 0 && !m.countRefused && !m.fits(now, hits) {
		hits = m.debt(now, hits)
	}
	sum := new(big.Int).Add(big.NewInt(u.count), big.NewInt(hits))
	switch {
	case sum.Sign() < 0:
		u.count = 0
	case !sum.IsInt64():
		u.count = math.MaxInt64
	default:
		u.count = sum.Int64()
	}
}

// counterUsage is hits by sub-window; a newest one that lies ahead is the present.
type counterUsage struct {
	newest int64 // where hits were last written
	counts map[int64]int64
}

func (u *counterUsage) width(m *model) int64 { return int64(m.p.Window) / m.p.Buckets }

func (u *counterUsage) used(m *model, t int64) *big.Rat {
	if len(u.counts) == 0 {
		return new(big.Rat)
	}
	w := u.width(m)
	t = max(t, u.newest*w)
	overlap := big.NewRat(w-t%w, w)
	used := overlap.Mul(overlap, whole(u.counts[t/w-m.p.Buckets]))
	for i := range m.p.Buckets {
		used.Add(used, whole(u.counts[t/w-i]))
	}
	return used
}

func (u *counterUsage) heal(m *model, now int64) {
	ahead := u.newest - (now/u.width(m) + 1)
	if len(u.counts) == 0 || ahead <= 0 {
		return
	}
	moved := map[int64]int64{}
	for i, n := range u.counts {
		moved[i-ahead] = n
	}
	u.newest, u.counts = u.newest-ahead, moved
}

func (u *counterUsage) add(m *model, now, hits int64) {
	if hits > 0 && !m.fits(now, hits) {
		hits = m.debt(now, hits)
	}
	if len(u.counts) == 0 {
		u.newest, u.counts = 0, map[int64]int64{}
	}
	u.newest = max(u.newest, now/u.width(m))
	u.counts[u.newest] += max(0, hits)
	for i := u.newest; i >= u.newest-m.p.Buckets && hits < 0; i-- {
		give := min(u.counts[i], -max(hits, -math.MaxInt64))
		u.counts[i] -= give
		hits += give
	}
	maps.DeleteFunc(u.counts, func(i, n int64) bool { return n == 0 || i < u.newest-m.p.Buckets })
}

// logUsage is hits by instant, in order.
type logUsage []struct{ at, hits int64 }

func (u *logUsage) live(m *model, t int64) int {
	return sort.Search(len(*u), func(i int) bool { return (*u)[i].at > t-int64(m.p.Window) })
}

func (u *logUsage) used(m *model, t int64) *big.Rat {
	var sum int64
	for _, e := range (*u)[u.live(m, t):] {
		sum += e.hits
	}
	return whole(sum)
}

func (u *logUsage) heal(_ *model, now int64) {
	for i := range *u {
		(*u)[i].at = min((*u)[i].at, now)
	}
}

func (u *logUsage) add(m *model, now, hits int64) {
	*u = slices.Clone((*u)[u.live(m, now):])
	if hits > 0 {
		*u = append(*u, struct{ at, hits int64 }{now, hits})
	}
	for hits < 0 && len(*u) > 0 {
		last := &(*u)[len(*u)-1]
		give := min(last.hits, -max(hits, -math.MaxInt64))
		last.hits -= give
		hits += give
		if last.hits == 0 {
			*u = (*u)[:len(*u)-1]
		}
	}
}
