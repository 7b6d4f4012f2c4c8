package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
)

// TestShareOptions: one connection, whose patience is not that of requests.
func TestShareOptions(t *testing.T) {
	t.Parallel()
	o := shareOptions(clientOptions(&Options{Budget: time.Millisecond, PoolSize: 5}, "h:1"))
	if o.PoolSize != 1 || o.ReadTimeout != shareTimeout || o.WriteTimeout != shareTimeout {
		t.Errorf("%d connections that wait for %v and %v", o.PoolSize, o.ReadTimeout, o.WriteTimeout)
	}
}

// TestUnshared says what follows from an error of sharing.
func TestUnshared(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	type conclusion struct{ Renews, Reported bool }
	for _, row := range []struct {
		name string
		err  error
		want conclusion
	}{
		{"none", nil, conclusion{}},
		{"no connection", fmt.Errorf("sharing: %w", dial), conclusion{Reported: true}},
		{"lost", errors.New("EOF"), conclusion{Reported: true}},
		{"late", context.DeadlineExceeded, conclusion{Reported: true}},
		{"moved", protocolError("MOVED 1 h:1"), conclusion{Reported: true}},
		{"moving", protocolError("ASK 1 h:1"), conclusion{Reported: true}},
		{"half moved", protocolError("TRYAGAIN Multiple keys"), conclusion{Reported: true}},
		{"without slots", protocolError("CLUSTERDOWN Hash slot"), conclusion{Reported: true}},
		{"a replica", protocolError("READONLY You can't"), conclusion{Renews: true, Reported: true}},
		{"without its master", protocolError("MASTERDOWN Link"), conclusion{Renews: true, Reported: true}},
		{"loading", protocolError("LOADING Redis"), conclusion{Renews: true, Reported: true}},
		{"full", protocolError("OOM command not allowed"), conclusion{}},
		{"not allowed", protocolError("NOPERM this user"), conclusion{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got conclusion
			n := &node{stale: make(chan *goredis.Client, 1), failed: func() { got.Reported = true }}
			n.tripped = make(chan struct{}, 1)
			n.unshared(nil, row.err)
			got.Renews = len(n.stale) == 1
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n.strikes.Load() != 0 {
				t.Error("sharing is a strike against decisions")
			}
		})
	}
}

// TestPostOpen wants nothing sent while the breaker is open.
func TestPostOpen(t *testing.T) {
	t.Parallel()
	n, cmd := &node{}, goredis.NewCmd(t.Context(), "get", "k") // without a client
	n.open.Store(true)
	if n.post(t.Context(), []*goredis.Cmd{cmd}); !errors.Is(cmd.Err(), ErrOpen) {
		t.Errorf("error is %v", cmd.Err())
	}
}

// TestSharingIsRenewed: what makes connections anew makes those anew on which replicas
// share, and what these find out is heeded.
func TestSharingIsRenewed(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Addrs: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it has met nobody
	n := r.single
	deciding, sharing := n.client.Load(), n.sharing.Load()
	for range 3 { // the third has room when the second is taken, after the first
		n.stale <- sharing
	}
	if n.client.Load() == deciding || n.sharing.Load() == sharing {
		t.Error("not all connections are made anew")
	}
}

// TestFailedPing has nobody ask a node of a cluster that has gone: that its successor
// is looked for needs no request.
func TestFailedPing(t *testing.T) {
	t.Parallel()
	reported := make(chan struct{})
	o := Options{Addrs: []string{"127.0.0.1:1"}}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	n := newNode(&o, "127.0.0.1:1", decideScript())
	n.failed = func() { signal(reported) }
	n.start()
	defer n.close() //nolint:errcheck // it has met nobody
	select {
	case <-reported:
	case <-time.After(time.Minute):
		t.Error("no word of a node that does not answer")
	}
}
