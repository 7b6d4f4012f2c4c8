// Package redis is the backend that keeps every key's state in Redis, so that all
// replicas share it.
//
// A request is one call of one script, which decides and charges all its asks
// atomically by the clock of the server; concurrent requests share calls. In a
// cluster it is one such call for each key, and what a request has charged before
// another key refused it is given back.
package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// How long a key outlives what it says.
const (
	slack         = time.Second
	injectedSlack = time.Hour // an injected clock runs at another pace than the one that expires keys
)

// Redis is a store of states in Redis. It is a backend.Backend.
type Redis struct {
	keys    keyer
	budget  time.Duration
	reserve time.Duration
	local   backend.Backend
	wall    func() int64
	single  *node     // nil in a cluster
	cluster *cluster  // nil otherwise
	calls   sync.Pool // of *call
	rounds  sync.Pool // of *round
	errors  [kinds]atomic.Uint64
}

// New makes the backend; it connects by itself and needs no server yet.
func New(o Options) (*Redis, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	quiet()
	r := &Redis{
		keys: newKeyer(o.KeyPrefix, o.HashKey), budget: o.Budget, reserve: o.Reserve, local: o.Local, wall: o.Now,
		calls:  sync.Pool{New: func() any { return newCall() }},
		rounds: sync.Pool{New: func() any { return newRound() }},
	}
	outlives := slack
	if o.Now == nil {
		r.wall = func() int64 { return time.Now().UnixNano() } //nolint:forbidigo // for answers without Redis' time
	} else {
		outlives = injectedSlack
	}
	s := decideScript()
	build := func(addr string) *node {
		n := newNode(&o, addr, s)
		n.batcher = batcher{node: n, from: n, sha: s.sha, slack: outlives.Milliseconds(), now: o.Now, pool: &r.calls}
		return n
	}
	if o.Mode == Cluster {
		r.cluster = newCluster(&o, build)
		return r, nil
	}
	r.single = build(o.Addrs[0])
	r.single.start()
	return r, nil
}

// nodeOf is the node that decides c.
func (r *Redis) nodeOf(c *call) *node {
	if r.cluster != nil {
		return r.cluster.nodeOf(c.slot)
	}
	return r.single
}

// Decide implements backend.Backend.
func (r *Redis) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	if ctx == nil {
		ctx = context.Background()
	}
	rd, ok := r.rounds.Get().(*round)
	if !ok {
		panic("redis: the pool of rounds holds something else")
	}
	defer r.end(rd)
	if r.answerKeyless(req, answers) > 0 {
		r.ask(ctx, rd, req, answers)
	}
	for i := range answers {
		if answers[i].Err != nil {
			r.fallBack(ctx, req, answers)
			break
		}
	}
	verdict := backend.Judge(req, answers)
	if verdict == backend.OverLimit && (req.Charge == backend.AllOrNothing || req.Charge == backend.Look) {
		r.spare(ctx, rd, req, answers)
	}
	return verdict
}

// answerKeyless answers the asks that Redis is not needed for and clears the
// answers of the others, which it counts.
func (r *Redis) answerKeyless(req *backend.Request, answers []backend.Answer) (others int) {
	for i := range req.Asks {
		rule := req.Asks[i].Rule.Limit
		answers[i] = backend.Answer{}
		switch {
		case rule.Layout() == algorithms.Stateless:
			_, answers[i].Decision = rule.Decide(algorithms.State{}, 0, req.Asks[i].Hits)
			answers[i].Source = backend.FromStore
			answers[i].Now = r.wall()
		case rule.Window()%time.Microsecond != 0:
			answers[i].Err = fmt.Errorf("window is %v, must be whole microseconds", rule.Window())
			answers[i].Source = backend.FromFallback
		default:
			others++
		}
	}
	return others
}

// Ready implements backend.Backend: every slot has a server that answers, is of a
// version that will do, and has the script.
func (r *Redis) Ready(ctx context.Context) error {
	if r.cluster != nil {
		return r.cluster.ready(ctx)
	}
	return r.single.ready(ctx)
}

// Close ends what is in flight and closes the connections.
func (r *Redis) Close() error {
	if r.cluster != nil {
		return r.cluster.close()
	}
	return r.single.close()
}
