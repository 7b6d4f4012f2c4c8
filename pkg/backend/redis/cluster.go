package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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
