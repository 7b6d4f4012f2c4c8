// Package local is the backend that keeps every key's state in this process.
//
// Keys are hashed, spread over shards with a lock each, and found in a table of
// 4 KiB pages outside the Go heap: 74 to 96 bytes a key. The store is bounded,
// and swept in small steps of what says nothing any more.
package local

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
)

// Defaults of Options.
const (
	DefaultMaxKeys    = 4 << 20
	DefaultSweepEvery = 10 * time.Second
)

// Options of a store. The zero Options are the defaults.
type Options struct {
	// Now is the clock that decides, in ns since the epoch; nil is the process'
	// own, which follows the wall clock forward only.
	Now func() int64
	// MaxKeys bounds the keys that are kept, DefaultMaxKeys if it is not positive.
	// It is divided among the shards, so a store may be full at a few keys less.
	MaxKeys int
	// SweepEvery is the time in which the whole store is swept once,
	// DefaultSweepEvery if it is not positive.
	SweepEvery time.Duration
}

// Local is a store of states in this process. It is a backend.Backend.
type Local struct {
	now      func() int64
	seeds    [2]maphash.Seed
	shards   []shard // a power of two of them
	overflow *overflow
	arena    arena
	sweeper  sweeper
	stop     func()
	stopped  sync.WaitGroup
}

// Stats are gauges and counters of a store.
type Stats struct {
	Keys              int   // kept now
	MaxKeys           int   // the bound
	Evictions         int64 // keys given up while their state still said something
	OverflowGroups    int   // overflow states in use now
	OverflowDecisions int64 // decisions on overflow states
	MemoryBytes       int64 // of tables, side stores and the states in them
}

// few is how many asks a request may have to be decided without allocation.
const few = 8

const (
	maxShards    = 128
	minShardKeys = 128 // fewer shards rather than smaller ones, which fill unevenly
)

// New makes an empty store and starts its sweeper, which Close stops.
func New(o Options) *Local {
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultMaxKeys
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	if o.Now == nil {
		o.Now = newClock().now
	}
	l := &Local{
		now:    o.Now,
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		shards: newShards(o.MaxKeys),
		// Apart, so that the compiler sees that no lock leads to a batch's items.
		overflow: new(overflow),
	}
	for i := range l.shards {
		l.shards[i].table.arena = &l.arena
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.stopped.Go(func() { l.sweepUntil(ctx.Done(), o.SweepEvery) })
	return l
}

func newShards(maxKeys int) []shard {
	n := maxShards
	for n > 1 && maxKeys/n < minShardKeys {
		n /= 2
	}
	shards := make([]shard, n)
	for i := range shards {
		shards[i].maxKeys = maxKeys / n
		if i < maxKeys%n {
			shards[i].maxKeys++
		}
	}
	return shards
}

func (l *Local) hash(key []byte) hash {
	return hash{maphash.Bytes(l.seeds[0], key), maphash.Bytes(l.seeds[1], key)}
}

// Decide implements backend.Backend. It never fails and never waits for more
// than locks, so it does not look at the context.
func (l *Local) Decide(_ context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	b := batch{store: l, req: req, answers: answers}
	switch n := len(req.Asks); {
	case n <= 1:
		var one [1]item
		b.items = one[:n]
		return b.decide()
	case n <= few:
		var some [few]item
		b.items = some[:n]
		return b.decide()
	default:
		b.items = make([]item, n)
		return b.decide()
	}
}

// Ready implements backend.Backend.
func (l *Local) Ready(context.Context) error { return nil }

// Close stops the sweeper, forgets every key and gives all memory back. Requests
// that are still decided find an empty store.
func (l *Local) Close() error {
	l.stop()
	l.stopped.Wait()
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.table = table{arena: &l.arena}
		s.side, s.sideBytes = nil, 0
	}
	l.overflow.clear()
	l.arena.close()
	for i := range l.shards {
		l.shards[i].mu.Unlock()
	}
	return nil
}

// Stats reads the gauges.
func (l *Local) Stats() Stats {
	stats := Stats{MemoryBytes: l.arena.inUse.Load() * pageBytes}
	for i := range l.shards {
		l.shards[i].addTo(&stats)
	}
	now := l.now()
	l.overflow.mu.Lock()
	defer l.overflow.mu.Unlock()
	stats.OverflowDecisions = l.overflow.decisions
	for _, state := range l.overflow.states {
		if state.full > now {
			stats.OverflowGroups++
		}
	}
	return stats
}

// after is the instant d ns after now, or the end of time.
func after(now int64, d time.Duration) int64 {
	if t := now + int64(d); t >= now {
		return t
	}
	return math.MaxInt64
}
