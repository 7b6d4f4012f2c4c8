package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// shareTimeout is how long a read or a write of a connection may take on which
// replicas share: no request waits for it, so it need not be as short as theirs. A
// deadline of the caller's context may be sooner.
const shareTimeout = time.Second

// shareOptions are those of a client that decisions do not use, made of those of one
// that they do.
func shareOptions(o *goredis.Options) *goredis.Options {
	o.PoolSize = 1
	o.ReadTimeout, o.WriteTimeout = shareTimeout, shareTimeout
	return o
}

// post sends n commands to the nodes of their slots, those of a node together, and
// returns when all are answered or have failed.
func (r *Redis) post(ctx context.Context, n int, command func(i int) (tag string, args []any)) []*goredis.Cmd {
	cmds, tags := make([]*goredis.Cmd, n), make([]string, n)
	for i := range cmds {
		var args []any
		tags[i], args = command(i)
		cmds[i] = goredis.NewCmd(ctx, args...)
	}
	var trips sync.WaitGroup
	for node, some := range r.byNode(ctx, tags, cmds) {
		trips.Go(func() { node.post(ctx, some) })
	}
	trips.Wait()
	return cmds
}

// byNode divides commands among the nodes of their tags. Where the node of a slot is
// not known the slots are asked for first.
func (r *Redis) byNode(ctx context.Context, tags []string, cmds []*goredis.Cmd) map[*node][]*goredis.Cmd {
	if r.cluster == nil {
		if len(cmds) == 0 {
			return nil
		}
		return map[*node][]*goredis.Cmd{r.single: cmds}
	}
	all := map[*node][]*goredis.Cmd{}
	asked := false
	for i, tag := range tags {
		slot := slotOf([]byte(tag))
		if r.cluster.slots[slot].Load() == nil && !asked {
			asked = true
			r.cluster.refresh(ctx) //nolint:errcheck // without an answer any node is asked, which says what is wrong
		}
		n := r.cluster.nodeOf(slot)
		all[n] = append(all[n], cmds[i])
	}
	return all
}

// post sends commands in one trip, and in a second one the script to a server that
// does not know it yet, with those that ran into that.
func (n *node) post(ctx context.Context, cmds []*goredis.Cmd) {
	if !n.up() {
		for _, cmd := range cmds {
			cmd.SetErr(ErrOpen)
		}
		return
	}
	client := n.sharing.Load()
	pipe := client.Pipeline()
	exec(ctx, pipe, cmds)
	var again []*goredis.Cmd
	for _, cmd := range cmds {
		if goredis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			cmd.SetErr(nil)
			again = append(again, cmd)
		}
	}
	if again != nil {
		pipe.ScriptLoad(ctx, shareLua)
		exec(ctx, pipe, again)
	}
	for _, cmd := range cmds {
		n.unshared(client, cmd.Err())
	}
}

func exec(ctx context.Context, pipe goredis.Pipeliner, cmds []*goredis.Cmd) {
	for _, cmd := range cmds {
		pipe.Process(ctx, cmd) //nolint:errcheck // it only joins the pipeline
	}
	pipe.Exec(ctx) //nolint:errcheck // each command has its own
}

// unshared draws the conclusions from what kept replicas from sharing: another node
// may serve the slot by now, or another server be the master. It is no strike of the
// breaker, since a long row takes its time.
func (n *node) unshared(client *goredis.Client, err error) {
	if err == nil {
		return
	}
	switch KindOf(err) {
	case ReadOnly, Loading:
		n.outdated(client)
		n.reportFailure()
	case Timeout, Unavailable, ClusterDown, Redirected:
		n.reportFailure()
	default:
	}
}
