// Package redis is the backend that keeps every key's state in Redis, so that all
// replicas share it.
//
// A request is one call of one script, which decides and charges all its asks
// atomically by the clock of the server; concurrent requests share calls.
package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// Defaults of Options.
const (
	DefaultBudget    = 15 * time.Millisecond
	DefaultReserve   = time.Millisecond
	DefaultKeyPrefix = "rls"
)

// How long a key outlives what it says.
const (
	slack         = time.Second
	injectedSlack = time.Hour // an injected clock runs at another pace than the one that expires keys
)

// Options of the backend. URL is required.
type Options struct {
	// URL is redis://[user:password@]host[:port][/database], rediss:// for TLS, or
	// unix://[user:password@]/path.
	URL string
	// Budget is the longest that a request waits, DefaultBudget if it is not positive.
	Budget time.Duration
	// Reserve is what is left of a request's deadline for its answer,
	// DefaultReserve if it is not positive.
	Reserve time.Duration
	// KeyPrefix begins every key, DefaultKeyPrefix if it is empty. It has no braces.
	KeyPrefix string
	// HashKey is the secret that keys are hashed with, by HMAC of SHA-256; empty:
	// keys can be read.
	HashKey []byte
	// Local decides asks of OnErrorLocal that Redis did not; nil refuses them.
	Local backend.Backend
	// Now is the clock that decides, in ns since the epoch; nil is Redis' own, as
	// it has to be where several processes share keys.
	Now func() int64
}

// Redis is a store of states in one Redis server. It is a backend.Backend.
type Redis struct {
	keys    keyer
	budget  time.Duration
	reserve time.Duration
	local   backend.Backend
	wall    func() int64
	server  *server
	batcher *batcher
	calls   sync.Pool // of *call
}

// New makes the backend; it connects when it is first asked.
func New(o Options) (*Redis, error) {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Reserve <= 0 {
		o.Reserve = DefaultReserve
	}
	if o.KeyPrefix == "" {
		o.KeyPrefix = DefaultKeyPrefix
	}
	if tagged(o.KeyPrefix) {
		return nil, fmt.Errorf("key prefix is %q, must have no braces", o.KeyPrefix)
	}
	s := decideScript()
	node, err := newServer(o.URL, o.Budget, s)
	if err != nil {
		return nil, err
	}
	r := &Redis{
		keys: newKeyer(o.KeyPrefix, o.HashKey), budget: o.Budget, reserve: o.Reserve, local: o.Local,
		wall: o.Now, server: node, calls: sync.Pool{New: func() any { return newCall() }},
	}
	r.batcher = &batcher{node: node, sha: s.sha, slack: slack.Milliseconds(), now: o.Now, pool: &r.calls}
	if o.Now == nil {
		r.wall = func() int64 { return time.Now().UnixNano() } //nolint:forbidigo // for answers without Redis' time
	} else {
		r.batcher.slack = injectedSlack.Milliseconds()
	}
	r.batcher.start()
	return r, nil
}

// Decide implements backend.Backend.
func (r *Redis) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	if ctx == nil {
		ctx = context.Background()
	}
	asked := r.answerKeyless(req, answers)
	if asked > 0 {
		r.ask(ctx, req, answers)
	}
	for i := range answers {
		if answers[i].Err != nil {
			r.fallBack(ctx, req, answers)
			break
		}
	}
	return backend.Judge(req, answers)
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

func (r *Redis) ask(ctx context.Context, req *backend.Request, answers []backend.Answer) {
	c, ok := r.calls.Get().(*call)
	if !ok {
		panic("redis: the pool of calls holds something else")
	}
	c.prepare(req, answers, &r.keys)
	err := r.patiently(ctx, c)
	if err == nil {
		if err = c.err; err == nil {
			c.answer(answers)
		}
		r.calls.Put(c)
	}
	if err == nil {
		return
	}
	for i := range answers {
		if answers[i].Source == 0 {
			answers[i].Err = err
		}
	}
}

// patiently has c decided within the budget and the deadline.
func (r *Redis) patiently(ctx context.Context, c *call) error {
	patience := r.budget
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-r.reserve)
	}
	if patience <= 0 {
		r.calls.Put(c)
		return ErrTimeout
	}
	return r.batcher.do(ctx, c, patience)
}

// Ready implements backend.Backend: the server answers and has the script.
func (r *Redis) Ready(ctx context.Context) error { return r.server.ready(ctx) }

// Close ends what is in flight and closes the connections.
func (r *Redis) Close() error {
	r.batcher.close()
	return r.server.close()
}
