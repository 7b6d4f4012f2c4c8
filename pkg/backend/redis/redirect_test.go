package redis

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
)

// TestTryAgain sends the keys of a command alone when some of them have moved, and
// gives up on a key that is alone already, or that is sent around.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	n := &node{}
	n.batcher = batcher{node: n, queue: make(chan *call, 1), closed: make(chan struct{})}
	c, again := newCall(), protocolError("TRYAGAIN Multiple keys request during rehashing of slot")
	if err := new(cluster).redirect(n, c, again); err != nil || !c.alone || len(n.batcher.queue) != 1 {
		t.Fatalf("error %v, alone %t, %d calls wait", err, c.alone, len(n.batcher.queue))
	}
	if err := new(cluster).redirect(n, <-n.batcher.queue, again); err == nil {
		t.Error("a key alone is sent again")
	}
	c = newCall()
	c.hops = maxHops
	if err := new(cluster).redirect(n, c, protocolError("MOVED 1 h:1")); err == nil {
		t.Error("a key is sent around for ever")
	}
}

// TestRedirect hands a call on to the node that an error names. Where that is for good
// the slot is known from then on.
func TestRedirect(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Taken, Asking, Alone, Known, Stale bool
		Hops                               uint8
	}
	for _, row := range []struct {
		text string
		want outcome
	}{
		{"MOVED 7 h:2", outcome{Taken: true, Known: true, Stale: true, Hops: 2}},
		{"ASK 7 h:2", outcome{Taken: true, Asking: true, Alone: true, Hops: 2}},
		{"MOVED 16384 h:2", outcome{Asking: true, Alone: true, Hops: 1}},
		{"MOVED 7", outcome{Asking: true, Alone: true, Hops: 1}},
		{"ERR of another kind", outcome{Asking: true, Alone: true, Hops: 1}},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			to := &node{addr: "h:2"}
			to.batcher = batcher{node: to, queue: make(chan *call, 1), closed: make(chan struct{})}
			c := &cluster{stale: make(chan struct{}, 1), nodes: map[string]*node{to.addr: to}}
			call := newCall()
			call.asking, call.alone, call.hops = true, true, 1 // as after an ASK
			err := c.redirect(&node{addr: "h:1"}, call, protocolError(row.text))
			got := outcome{err == nil, call.asking, call.alone, c.slots[7].Load() == to, len(c.stale) == 1, call.hops}
			if diff := cmp.Diff(row.want, got); diff != "" || len(to.batcher.queue) == 1 != got.Taken {
				t.Errorf("%d calls wait; (-want +got):\n%s", len(to.batcher.queue), diff)
			}
		})
	}
}

// TestComplete gives an address that has no host that of the node which told it.
func TestComplete(t *testing.T) {
	t.Parallel()
	for _, row := range [][3]string{{"h:7", "h:1", ":7"}, {"i:7", "h:1", "i:7"}, {"[::1]:7", "[::1]:1", ":7"}} {
		if got := complete(row[2], row[1]); got != row[0] {
			t.Errorf("%q told by %q is %q, want %q", row[2], row[1], got, row[0])
		}
	}
}

// TestUnknownSlot is asked for at a node that is up.
func TestUnknownSlot(t *testing.T) {
	t.Parallel()
	down, up := &node{addr: "h:1"}, &node{addr: "h:2"}
	down.open.Store(true)
	c := &cluster{o: &Options{Addrs: []string{down.addr}}, stale: make(chan struct{}, 1), nodes: map[string]*node{down.addr: down, up.addr: up}}
	for range 20 { // maps have no order
		if n := c.nodeOf(7); n != up || len(c.stale) != 1 {
			t.Errorf("node %s is asked, and for the slots: %t", n.addr, len(c.stale) == 1)
		}
	}
}

// TestAbsentNodes lets a node go that has had no slots for two answers in a row.
func TestAbsentNodes(t *testing.T) {
	t.Parallel()
	const one, two = "127.0.0.1:2", "127.0.0.1:3"
	r, err := New(Options{Mode: Cluster, Addrs: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it has met nobody
	c := r.cluster
	for i, row := range []struct {
		master string
		known  []string
	}{
		{one, []string{one}},
		{two, []string{one, two}},
		{one, []string{one, two}},
		{two, []string{one, two}}, // the count begins anew
		{two, []string{two}},
	} {
		c.apply([]goredis.ClusterSlot{{Start: 0, End: slotCount - 1, Nodes: []goredis.ClusterNode{{Addr: row.master}}}}, row.master)
		var known []string
		for _, n := range c.all() {
			known = append(known, n.addr)
		}
		slices.Sort(known)
		if diff := cmp.Diff(row.known, known); diff != "" || c.nodeOf(7).addr != row.master {
			t.Errorf("answer %d: slot 7 is served by %s; nodes (-want +got):\n%s", i, c.nodeOf(7).addr, diff)
		}
	}
}
