package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	refreshPause = 100 * time.Millisecond // between two questions for the slots
	slotsTimeout = time.Second            // of one such question
	absences     = 2                      // answers without a node before it is let go
)

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
