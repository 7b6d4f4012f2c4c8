package redis

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	strikes    = 3 // trips without an answer that open the breaker
	firstProbe = 50 * time.Millisecond
	lastProbe  = time.Second
)

// breaker keeps requests from waiting for a node that does not answer. It is open
// from some trips without an answer, or one without a connection, until a probe is
// answered.
type breaker struct {
	open    atomic.Bool
	strikes atomic.Int32
	tripped chan struct{} // of one place: the probes are to begin
}

func (b *breaker) answered() { b.strikes.Store(0) }

// struck counts a trip without an answer; weight is how many it counts for.
func (b *breaker) struck(weight int32) {
	if b.strikes.Add(weight) >= strikes && b.open.CompareAndSwap(false, true) {
		signal(b.tripped)
	}
}

func (b *breaker) close() {
	b.strikes.Store(0)
	b.open.Store(false)
}

// signal leaves word for a receiver that may be busy.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// backoff is the wait before a next try: twice as long each time, up to lastProbe,
// and random, so that many processes do not come at once.
type backoff struct{ next time.Duration }

func (b *backoff) wait() time.Duration {
	b.next = min(max(2*b.next, firstProbe), lastProbe)
	return b.next/2 + rand.N(b.next/2) //nolint:gosec // no secret
}
