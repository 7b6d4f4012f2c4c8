package steer

import (
	"context"
	"time"
)

// phase is when in each second of the wall clock ticks are: the Book's intervals of
// Envoy's access log are such seconds, and with a buffer_flush_interval of 0.2 s the
// last entries come in until then.
const phase = 300 * time.Millisecond

// lead is how much later the replica ticks that steps for all: the others have left
// by then what they heard, and it is they who hear last where the limit is.
const lead = 200 * time.Millisecond

// How long a replica steers for all: until the others have asked once more in vain,
// and not until its own next tick.
const (
	turn      = 9 * Interval / 10
	firstTurn = turn + lead - Interval/20 // of one that was not the leader, and ticks when those ask
)

// Run ticks until ctx ends.
func (s *Steering) Run(ctx context.Context) {
	timer := time.NewTimer(s.untilTick())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			s.Tick(ctx)
			timer.Reset(s.untilTick())
		}
	}
}

// untilTick is how long it is to the next tick: more than from one phase to the other,
// lest one second have two.
func (s *Steering) untilTick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := phase - time.Duration(s.o.Now().Nanosecond())
	if s.leads {
		wait += lead
	}
	for wait < Interval/4 {
		wait += Interval
	}
	return wait
}

// turn is how long this replica would steer for all if it came to it now.
func (s *Steering) turn() time.Duration {
	if s.leads {
		return turn
	}
	return firstTurn
}
