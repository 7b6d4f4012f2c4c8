package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	keepAlive  = 10 * time.Second // between two pings of a connection
	masterPoll = time.Second      // between two questions where the master is
)

// keep looks after the connections until ctx ends.
func (n *node) keep(ctx context.Context) {
	interval := keepAlive
	if n.finder != nil {
		interval = masterPoll
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.tripped:
			n.renew()
			n.probe(ctx)
		case client := <-n.stale:
			if client == n.client.Load() || client == n.sharing.Load() { // else that has happened, and the new ones are in use
				n.renew()
				pause(ctx, firstProbe) // not more often
			}
		case <-tick.C:
			if n.finder != nil && n.finder.moved(ctx) {
				n.renew()
			}
			if n.client.Load().Ping(ctx).Err() != nil { // and the connection is used
				n.reportFailure()
			}
		}
	}
}

// probe waits until the node answers and closes the breaker.
func (n *node) probe(ctx context.Context) {
	var b backoff
	for pause(ctx, b.wait()) {
		if n.client.Load().Ping(ctx).Err() == nil {
			n.breaker.close()
			return
		}
		n.renew() // a server that answers with an error may no longer be the one
		n.reportFailure()
	}
}

// renew makes the connections anew, so that names and sentinels are asked again.
func (n *node) renew() {
	n.client.Swap(goredis.NewClient(n.options())).Close()                //nolint:errcheck // its connections are of no more use
	n.sharing.Swap(goredis.NewClient(shareOptions(n.options()))).Close() //nolint:errcheck // nor are these
}

// pause waits, and says whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
