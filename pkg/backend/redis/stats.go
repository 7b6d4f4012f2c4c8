package redis

import (
	"slices"
	"strings"
)

// Stats are counts since the backend was made.
type Stats struct {
	Errors [kinds]uint64 // asks that were not decided, by Kind
	Nodes  []NodeStats   // by address
}

// NodeStats are those of one node.
type NodeStats struct {
	Addr        string // with sentinels the name of the master
	Trips       uint64
	Asks        uint64
	Batches     BatchSizes
	Waiting     int // calls
	Connections int
	Open        bool // whether the breaker is open: the node is not asked
}

// Stats reads the counts, none of which waits for another.
func (r *Redis) Stats() Stats {
	var s Stats
	for kind := range r.errors {
		s.Errors[kind] = r.errors[kind].Load()
	}
	nodes := []*node{r.single}
	if r.cluster != nil {
		nodes = r.cluster.all()
	}
	for _, n := range nodes {
		one := NodeStats{
			Addr: n.addr, Waiting: len(n.batcher.queue), Open: !n.up(),
			Connections: int(n.client.Load().PoolStats().TotalConns + n.sharing.Load().PoolStats().TotalConns),
		}
		one.Batches, one.Asks = n.batcher.sizes.read()
		for _, trips := range one.Batches {
			one.Trips += trips
		}
		s.Nodes = append(s.Nodes, one)
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStats) int { return strings.Compare(a.Addr, b.Addr) })
	return s
}
