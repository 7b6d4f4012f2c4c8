package local

import "time"

// ticks is in how many parts the sweeper does its round.
const ticks = 100

// sweeper is where the sweep is: before the page of the hash prefix hi in a shard.
type sweeper struct {
	shard int
	hi    uint64
}

// sweepUntil sweeps the whole store once in every, until done.
func (l *Local) sweepUntil(done <-chan struct{}, every time.Duration) {
	ticker := time.NewTicker(max(every/ticks, time.Millisecond))
	defer ticker.Stop()
	pages := 0 // of one tick; it does not fall while a round frees pages, or the round would not end in time
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if l.sweeper == (sweeper{}) {
				pages = 0
			}
			pages = max(pages, (int(l.arena.inUse.Load())+len(l.shards))/ticks+1)
			for range pages {
				l.sweepPage()
			}
		}
	}
}

// sweepPage sweeps the next page, and the overflow after the last one. Only the
// sweeper's goroutine calls it.
func (l *Local) sweepPage() {
	s := &l.shards[l.sweeper.shard]
	s.mu.Lock()
	l.sweeper.hi = s.sweep(l.sweeper.hi, l.now())
	s.mu.Unlock()
	if l.sweeper.hi > 0 {
		return
	}
	if l.sweeper.shard = (l.sweeper.shard + 1) % len(l.shards); l.sweeper.shard == 0 {
		l.overflow.sweep(l.now())
	}
}
