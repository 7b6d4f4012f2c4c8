package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	maxHops      = 5                      // redirections of a call that are followed
	refreshPause = 100 * time.Millisecond // between two questions for the slots
	slotsTimeout = time.Second            // of one such question
	absences     = 2                      // answers without a node before it is let go
)

// cluster knows which node serves which slot. It learns that from the nodes, from
// their redirections, and anew whenever a node fails.
type cluster struct {
	o     *Options
	make  func(addr string) *node
	slots [slotCount]atomic.Pointer[node] // nil: not known
	stale chan struct{}                   // of one place: the slots are to be asked for
	end   context.CancelFunc
	ended sync.WaitGroup

	mu     sync.Mutex
	nodes  map[string]*node
	absent map[string]int // how often a node was not among those with slots
	closed bool
}

func newCluster(o *Options, build func(addr string) *node) *cluster {
	c := &cluster{o: o, stale: make(chan struct{}, 1), nodes: map[string]*node{}, absent: map[string]int{}}
	c.make = func(addr string) *node {
		n := build(addr)
		n.failed = func() { signal(c.stale) }
		n.batcher.moved = c.redirect
		n.start()
		return n
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	signal(c.stale)
	c.ended.Go(func() { c.keep(ctx) })
	return c
}

func (c *cluster) close() error {
	c.end()
	c.ended.Wait()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	var all error
	for _, n := range c.all() {
		all = errors.Join(all, n.close())
	}
	return all
}

// all are the nodes that are known.
func (c *cluster) all() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.nodes))
}

// nodeOf is the node of a slot; while that is not known any node will do, which
// says where to go.
func (c *cluster) nodeOf(slot uint16) *node {
	if n := c.slots[slot].Load(); n != nil {
		return n
	}
	signal(c.stale)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.up() {
			return n
		}
	}
	return c.nodeLocked(c.o.Addrs[rand.IntN(len(c.o.Addrs))]) //nolint:gosec // no secret
}

func (c *cluster) node(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodeLocked(addr)
}

func (c *cluster) nodeLocked(addr string) *node {
	n := c.nodes[addr]
	if n == nil {
		n = c.make(addr)
		if c.closed { // nothing may outlive the cluster
			n.close() //nolint:errcheck // it has done nothing
			return n
		}
		c.nodes[addr] = n
	}
	return n
}

// redirect hands a call that did not run to the node that may run it. An error
// says that nobody has taken it.
func (c *cluster) redirect(from *node, call *call, err error) error {
	var answered goredis.Error
	if !errors.As(err, &answered) {
		return err
	}
	words := strings.Fields(answered.Error())
	var to *node
	switch {
	case call.hops >= maxHops:
		return err
	case len(words) == 3 && words[0] == "MOVED": //nolint:mnd // and slot and address
		slot, bad := strconv.ParseUint(words[1], 10, 16)
		if bad != nil || slot >= slotCount {
			return err
		}
		to = c.node(complete(words[2], from.addr))
		c.slots[slot].Store(to)
		signal(c.stale)
		call.asking, call.alone = false, false
	case len(words) == 3 && words[0] == "ASK": //nolint:mnd // as above
		to = c.node(complete(words[2], from.addr))
		call.asking, call.alone = true, true
	case len(words) > 0 && words[0] == "TRYAGAIN" && !call.alone:
		// Of the keys that share the command some have moved; a key for itself has
		// moved or not.
		to, call.alone = from, true
	default:
		return err
	}
	call.hops++
	return to.batcher.submit(call)
}

// complete gives an address without a host that of the node which named it.
func complete(addr, from string) string {
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		if host, _, err := net.SplitHostPort(from); err == nil {
			return net.JoinHostPort(host, port)
		}
	}
	return addr
}

// keep asks for the slots whenever they may have changed, until ctx ends.
func (c *cluster) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.stale:
		}
		if c.refresh(ctx) != nil {
			signal(c.stale)
		}
		if !pause(ctx, refreshPause) {
			return
		}
	}
}

// refresh asks one node after another, those that have slots before those of the
// options.
func (c *cluster) refresh(ctx context.Context) error {
	c.mu.Lock()
	var addrs []string
	for addr, n := range c.nodes {
		if n.up() {
			addrs = append(addrs, addr)
		}
	}
	c.mu.Unlock()
	var all error
	for _, addr := range append(addrs, c.o.Addrs...) {
		slots, err := c.askSlots(ctx, addr)
		if err == nil {
			c.apply(slots, addr)
			return nil
		}
		all = errors.Join(all, err)
	}
	return fmt.Errorf("asking redis for the slots: %w", all)
}

func (c *cluster) askSlots(ctx context.Context, addr string) ([]goredis.ClusterSlot, error) {
	ctx, cancel := context.WithTimeout(ctx, slotsTimeout)
	defer cancel()
	o := *c.o
	o.Budget = slotsTimeout
	client := goredis.NewClient(clientOptions(&o, addr))
	defer client.Close()                            //nolint:errcheck // it has answered, or not
	slots, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // Redis 6.2 has no CLUSTER SHARDS
	if err == nil && len(slots) == 0 {
		err = errors.New("no node has slots")
	}
	return slots, err
}

// apply takes over the masters of slots as addr knows them.
func (c *cluster) apply(slots []goredis.ClusterSlot, addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	present := map[*node]bool{}
	for _, s := range slots {
		if len(s.Nodes) == 0 {
			continue
		}
		n := c.nodeLocked(complete(s.Nodes[0].Addr, addr))
		present[n] = true
		for slot := max(s.Start, 0); slot <= min(s.End, slotCount-1); slot++ {
			c.slots[slot].Store(n)
		}
	}
	for addr, n := range c.nodes {
		if present[n] {
			delete(c.absent, addr)
			continue
		}
		if c.absent[addr]++; c.absent[addr] < absences {
			continue
		}
		for i := range c.slots {
			c.slots[i].CompareAndSwap(n, nil)
		}
		delete(c.nodes, addr)
		delete(c.absent, addr)
		c.ended.Go(func() { n.close() }) //nolint:errcheck // nobody has a use for it
	}
}

// masters are the nodes that have slots, and whether all slots are theirs.
func (c *cluster) masters() (nodes []*node, all bool) {
	all = true
	seen := map[*node]bool{}
	for i := range c.slots {
		n := c.slots[i].Load()
		switch {
		case n == nil:
			all = false
		case !seen[n]:
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	return nodes, all
}

// ready says whether all slots are served.
func (c *cluster) ready(ctx context.Context) error {
	if _, all := c.masters(); !all {
		if err := c.refresh(ctx); err != nil {
			return err
		}
	}
	nodes, all := c.masters()
	if !all {
		return errors.New("the redis cluster has slots that no node serves")
	}
	for _, n := range nodes {
		if err := n.ready(ctx); err != nil {
			return fmt.Errorf("node %s: %w", n.addr, err)
		}
	}
	return nil
}
