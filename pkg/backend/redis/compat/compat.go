// Package compat keeps counters where envoyproxy/ratelimit keeps them, in its
// form, so that both can run beside each other on one Redis.
//
// A counter is the key "<prefix><domain>_<key>_<value>_…_<start>", start being
// that of the window in seconds since the epoch, by the clock of this process. It
// is raised by INCRBY, even by hits that are refused, and expires one window
// after it was last asked for, plus a jitter.
package compat

import (
	"context"
	"errors"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// Options of a Store.
type Options struct {
	// Redis says where the counters are. Of KeyPrefix, HashKey and Local only the
	// last matters.
	Redis redis.Options
	// PerSecond is another Redis, for rules of one second; nil: they have none.
	PerSecond *redis.Options
	// KeyPrefix begins every key.
	KeyPrefix string
	// Jitter bounds what is added to the expiry of a key at random, in whole
	// seconds, so that those of one window do not all expire at once. 0 adds none.
	Jitter int64
	// StopIncrement adds nothing to the other counters of a request once one of
	// them is over, at the price of one more trip.
	StopIncrement bool
	// CacheBytes is how much memory the keys that are over their limit may take,
	// which are then not asked for again; 0: they are.
	CacheBytes int
	// Next decides asks without a Legacy key.
	Next backend.Backend
	// Now is the clock, in ns since the epoch; nil is the process' own.
	Now func() int64
}

// Store is a backend.Backend. It decides asks with a Legacy key by themselves,
// whatever the request's charge, as envoyproxy/ratelimit does.
type Store struct {
	o         Options
	now       func() int64
	client    goredis.UniversalClient
	perSecond goredis.UniversalClient // client, if there is no other
	overs     *overs                  // nil: none are kept
}

// New makes a Store; it connects when it is first asked. Closing it closes Next.
func New(o Options) (*Store, error) {
	if o.Redis.Budget <= 0 {
		o.Redis.Budget = redis.DefaultBudget
	}
	if o.Redis.Reserve <= 0 {
		o.Redis.Reserve = redis.DefaultReserve
	}
	s := &Store{o: o, now: o.Now}
	var err error
	if s.client, err = NewClient(&o.Redis); err != nil {
		return nil, err
	}
	s.perSecond = s.client
	if o.PerSecond != nil {
		if s.perSecond, err = NewClient(o.PerSecond); err != nil {
			return nil, errors.Join(err, s.client.Close())
		}
	}
	if s.now == nil {
		s.now = func() int64 { return time.Now().UnixNano() } //nolint:forbidigo // keys hold the time of this process
	}
	if o.CacheBytes > 0 {
		s.overs = newOvers(o.CacheBytes)
	}
	return s, nil
}

// AppendPart appends one part of a Legacy key: the domain, then of every entry
// the key and the value.
func AppendPart(dst []byte, part string) []byte { return append(append(dst, part...), '_') }

// Decide implements backend.Backend.
func (s *Store) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	if req.Charge == backend.Look || !hasLegacy(req) {
		return s.o.Next.Decide(ctx, req, answers)
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	var all []*counter
	others := &backend.Request{Charge: req.Charge, QuotaPass: req.QuotaPass}
	var theirs []int
	now := s.now()
	for i := range req.Asks {
		ask := &req.Asks[i]
		if ask.Legacy == nil {
			others.Asks, theirs = append(others.Asks, *ask), append(theirs, i)
			continue
		}
		all = append(all, s.counter(ask, &answers[i], now))
	}
	s.count(ctx, all, now)
	if len(theirs) > 0 {
		given := make([]backend.Answer, len(theirs))
		s.o.Next.Decide(ctx, others, given)
		for k, i := range theirs {
			answers[i] = given[k]
		}
	}
	s.fallBack(ctx, all)
	return backend.Judge(req, answers)
}

func hasLegacy(req *backend.Request) bool {
	for i := range req.Asks {
		if req.Asks[i].Legacy != nil {
			return true
		}
	}
	return false
}

// patience bounds a request by the budget and by its deadline less the reserve.
func (s *Store) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-s.o.Redis.Reserve))
		bounded, inner := context.WithTimeout(ctx, s.o.Redis.Budget)
		return bounded, func() { inner(); cancel() }
	}
	return context.WithTimeout(ctx, s.o.Redis.Budget)
}

// counter is an ask on its way.
type counter struct {
	ask    *backend.Ask
	answer *backend.Answer
	key    string
	start  int64 // of the window, ns
	adds   int64 // hits that are counted
	ttl    time.Duration
	client goredis.UniversalClient
}

func (s *Store) counter(ask *backend.Ask, answer *backend.Answer, now int64) *counter {
	window := int64(ask.Rule.Limit.Window())
	c := &counter{ask: ask, answer: answer, start: now - now%window, adds: max(-maxHits, min(ask.Hits, maxHits)), client: s.client}
	if window == int64(time.Second) {
		c.client = s.perSecond
	}
	key := append([]byte(s.o.KeyPrefix), ask.Legacy...)
	c.key = string(strconv.AppendInt(key, c.start/int64(time.Second), 10))
	c.ttl = ask.Rule.Limit.Window() + s.jitter()
	*answer = backend.Answer{Now: now, Source: backend.FromStore}
	return c
}

// Ready implements backend.Backend.
func (s *Store) Ready(ctx context.Context) error {
	return errors.Join(s.client.Ping(ctx).Err(), s.perSecond.Ping(ctx).Err(), s.o.Next.Ready(ctx))
}

// Close implements backend.Backend.
func (s *Store) Close() error {
	err := errors.Join(s.client.Close(), s.o.Next.Close())
	if s.perSecond != s.client {
		err = errors.Join(err, s.perSecond.Close())
	}
	return err
}
