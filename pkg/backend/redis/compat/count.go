package compat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// maxHits is the most that an ask adds: Redis' numbers end at 2^63.
const maxHits = 1<<53 - 1

// refund takes hits from a counter, but no more than it has, and gives what is left.
const refund = `local held = redis.call('GET', KEYS[1]) or 0
return redis.call('DECRBY', KEYS[1], string.format('%.0f', math.min(held, ARGV[1])))`

func (s *Store) jitter() time.Duration {
	if s.o.Jitter <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(s.o.Jitter)) * time.Second //nolint:gosec // no secret
}

// count decides all counters: from memory, or in one trip to each Redis.
func (s *Store) count(ctx context.Context, all []*counter, now int64) {
	asked := make([]*counter, 0, len(all))
	for _, c := range all {
		if held, ok := s.overs.recall(c); ok {
			c.decide(held, now)
			c.answer.Source = backend.FromCache
			continue
		}
		asked = append(asked, c)
	}
	if s.o.StopIncrement {
		if err := stop(ctx, asked, len(asked) < len(all)); err != nil {
			fail(asked, err)
			return
		}
	}
	s.raise(ctx, asked, now)
}

// stop has nothing added to the counters that are not over if one of a request
// is, or would be.
func stop(ctx context.Context, asked []*counter, over bool) error {
	exceeds := make([]bool, len(asked))
	if !over {
		held := make([]*goredis.StringCmd, len(asked))
		trip(ctx, asked, func(p goredis.Pipeliner, i int) { held[i] = p.Get(ctx, asked[i].key) })
		for i, c := range asked {
			n, err := held[i].Int64()
			if err != nil && !errors.Is(err, goredis.Nil) {
				return err
			}
			exceeds[i] = c.adds > 0 && n > c.ask.Rule.Limit.Limit()-c.adds
			over = over || exceeds[i]
		}
	}
	for i, c := range asked {
		if over && !exceeds[i] && c.adds > 0 {
			c.adds = 0
		}
	}
	return nil
}

// raise adds to the counters and decides by what they then hold.
func (s *Store) raise(ctx context.Context, asked []*counter, now int64) {
	sums := make([]interface{ Err() error }, len(asked))
	trip(ctx, asked, func(p goredis.Pipeliner, i int) {
		c := asked[i]
		if c.adds < 0 {
			sums[i] = p.Eval(ctx, refund, []string{c.key}, -c.adds)
		} else {
			sums[i] = p.IncrBy(ctx, c.key, c.adds)
		}
		p.Expire(ctx, c.key, c.ttl)
	})
	for i, c := range asked {
		held, err := sum(sums[i])
		if err != nil {
			fail(asked[i:i+1], err)
			continue
		}
		c.decide(held, now)
		s.overs.learn(c, held)
	}
}

// sum is what a counter holds after a command.
func sum(of interface{ Err() error }) (int64, error) {
	if err := of.Err(); err != nil {
		if strings.Contains(err.Error(), "overflow") {
			return math.MaxInt64, nil
		}
		return 0, err
	}
	switch cmd := of.(type) {
	case *goredis.IntCmd:
		return cmd.Val(), nil
	case *goredis.Cmd:
		return cmd.Int64()
	default:
		return 0, fmt.Errorf("reading a counter: unexpected reply %T", of)
	}
}

// trip sends commands for each counter, in one pipeline to each Redis. Each
// command has its own error.
func trip(ctx context.Context, asked []*counter, add func(p goredis.Pipeliner, i int)) {
	pipes := map[goredis.UniversalClient]goredis.Pipeliner{}
	for i, c := range asked {
		if pipes[c.client] == nil {
			pipes[c.client] = c.client.Pipeline()
		}
		add(pipes[c.client], i)
	}
	for _, p := range pipes {
		p.Exec(ctx) //nolint:errcheck // it is one of the commands'
	}
}

// decide forms the answer to hits that a counter holds already.
func (c *counter) decide(held, now int64) {
	rule, a := c.ask.Rule.Limit, c.answer
	held = max(held, 0)
	state := algorithms.WindowState(c.start/int64(time.Microsecond), held)
	if c.adds < 0 {
		_, a.Decision = rule.Decide(state, now, 0)
		a.Allowed, a.RetryAfter = true, 0
	} else {
		_, a.Decision = rule.DecideCountRefused(state, now, 0)
		if !a.Allowed && c.ask.Hits > rule.Limit() {
			a.RetryAfter = algorithms.Never
		}
	}
	a.Used = held
}

func fail(counters []*counter, err error) {
	for _, c := range counters {
		c.answer.Err = fmt.Errorf("asking redis: %w", err)
	}
}

// fallBack answers what Redis did not decide by the rules' policies.
func (s *Store) fallBack(ctx context.Context, all []*counter) {
	sub := &backend.Request{Charge: backend.CountRefused}
	var theirs []*counter
	for _, c := range all {
		if c.answer.Err == nil {
			continue
		}
		c.answer.Source = backend.FromFallback
		c.answer.Decision = algorithms.Decision{Allowed: c.ask.Rule.OnError == backend.OnErrorAllow}
		if c.ask.Rule.OnError == backend.OnErrorLocal && s.o.Redis.Local != nil {
			sub.Asks, theirs = append(sub.Asks, *c.ask), append(theirs, c)
		}
	}
	if len(theirs) == 0 {
		return
	}
	decided := make([]backend.Answer, len(theirs))
	s.o.Redis.Local.Decide(ctx, sub, decided)
	for i, c := range theirs {
		c.answer.Decision, c.answer.Used, c.answer.Now = decided[i].Decision, decided[i].Used, decided[i].Now
	}
}
