package redis

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

const (
	// longestRefusal is how long a refusal is remembered at most: as long as a
	// refund that another replica took can go unseen.
	longestRefusal = time.Second
	refusalShards  = 64
	maxMemory      = 16 // asks of a request whose refusals are remembered
	evictionSample = 8
)

// DefaultRefusals is how many refused keys are remembered, about 150 bytes each.
const DefaultRefusals = 100_000

// RefusalOptions are those of NewRefusals.
type RefusalOptions struct {
	// MaxKeys is how many refused keys are remembered, DefaultRefusals if it is
	// not positive.
	MaxKeys int
	// Now is a clock that never runs back, in ns since any instant; nil is the
	// process' own.
	Now func() int64
}

// Refusals is a backend that remembers what the one behind it refused, and
// refuses the same again until it could be admitted, a second at most. A request
// is answered from memory only if that is certain of each of its asks, and then
// as the store would answer, but that what remains is not told anew. What this process refunds or admits ends what it
// remembers of a key.
type Refusals struct {
	backend.Backend

	now     func() int64
	seeds   [2]maphash.Seed
	most    int // entries of a shard
	shards  [refusalShards]refusalShard
	answers atomic.Uint64
}

type refusalKey [2]uint64

// refusalShard is a part of the memory.
type refusalShard struct {
	mu      sync.Mutex
	entries map[refusalKey]refusal
	refunds uint64 // that this part has seen
}

// refusal is an answer to be given again.
type refusal struct {
	limit  *algorithms.Rule
	hits   int64
	until  int64 // ns, when it ends
	at     int64 // ns, when it came
	answer backend.Answer
}

// NewRefusals remembers the refusals of next.
func NewRefusals(next backend.Backend, o RefusalOptions) *Refusals {
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultRefusals
	}
	if o.Now == nil {
		started := time.Now() //nolint:forbidigo // monotonic, and no part of a decision
		o.Now = func() int64 { return int64(time.Since(started)) }
	}
	r := &Refusals{
		Backend: next, now: o.Now, most: max(o.MaxKeys/refusalShards, 1),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	for i := range r.shards {
		r.shards[i].entries = map[refusalKey]refusal{}
	}
	return r
}

// Answers is how many requests were answered from memory.
func (r *Refusals) Answers() uint64 { return r.answers.Load() }

// Decide implements backend.Backend.
func (r *Refusals) Decide(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	n := len(req.Asks)
	if n == 0 || n > maxMemory || req.Charge == backend.Look {
		return r.past(ctx, req, answers)
	}
	now := r.now()
	var keys [maxMemory]refusalKey
	var refunds [maxMemory]uint64
	remembered := true // and no key twice: the answer to such asks is not about the hits of one
	for i := range req.Asks {
		keys[i] = r.key(req.Asks[i].Key)
		var ok bool
		answers[i], refunds[i], ok = r.shard(keys[i]).recall(keys[i], req, i, now)
		remembered = remembered && ok && !slices.Contains(keys[:i], keys[i])
	}
	if remembered {
		r.answers.Add(1)
		return backend.Judge(req, answers)
	}
	verdict := r.Backend.Decide(ctx, req, answers)
	came := r.now()
	for i := range req.Asks {
		ask, a, shard := &req.Asks[i], &answers[i], r.shard(keys[i])
		switch {
		case ask.Hits < 0, verdict == backend.OverLimit && a.Allowed && ask.Hits > 0: // refunded, or given back
			shard.refunded(keys[i])
		case a.Allowed && ask.Hits > 0, refusedCounts(req, ask):
			shard.forget(keys[i])
		case certain(ask, a) && !slices.Contains(keys[:i], keys[i]) && !slices.Contains(keys[i+1:n], keys[i]):
			known := refusal{ask.Rule.Limit, max(ask.Hits, 1), now + int64(holds(a)), came, *a}
			shard.remember(keys[i], &known, refunds[i], r.most)
		}
	}
	return verdict
}

// holds is how long a refusal is remembered.
func holds(a *backend.Answer) time.Duration {
	if a.RetryAfter == algorithms.Never {
		return longestRefusal
	}
	return min(a.RetryAfter, longestRefusal)
}

// past leaves a request to the backend behind, and forgets what it may change.
func (r *Refusals) past(ctx context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	verdict := r.Backend.Decide(ctx, req, answers)
	for i := range req.Asks {
		if req.Charge != backend.Look && req.Asks[i].Hits < 0 {
			key := r.key(req.Asks[i].Key)
			r.shard(key).refunded(key)
		}
	}
	return verdict
}

func (r *Refusals) key(identity []byte) refusalKey {
	return refusalKey{maphash.Bytes(r.seeds[0], identity), maphash.Bytes(r.seeds[1], identity)}
}

func (r *Refusals) shard(key refusalKey) *refusalShard { return &r.shards[key[0]%refusalShards] }

// refusedCounts says whether an ask is charged although it is refused.
func refusedCounts(req *backend.Request, ask *backend.Ask) bool {
	return ask.Hits > 0 && ask.Rule.Limit.Overdraft() > 0 || req.Charge == backend.CountRefused && ask.Rule.CountRefused
}

// certain says whether an answer is a refusal by the store of what is kept.
func certain(ask *backend.Ask, a *backend.Answer) bool {
	return a.Source == backend.FromStore && !a.Allowed && ask.Rule.Limit.Layout() != algorithms.Stateless
}

// recall is the answer to ask i, if it is a refusal that holds at now, and how
// many refunds the shard has seen.
func (s *refusalShard) recall(key refusalKey, req *backend.Request, i int, now int64) (a backend.Answer, refunds uint64, ok bool) {
	s.mu.Lock()
	known, found := s.entries[key]
	refunds = s.refunds
	s.mu.Unlock()
	if ask := &req.Asks[i]; !found || now >= known.until || refusedCounts(req, ask) || !known.covers(ask) {
		return a, refunds, false
	}
	return known.again(req.Asks[i].Hits, now), refunds, true
}

// covers says whether an ask gets the same answer: it is of the same limit and
// asks for as much, or, where all wait for the end of a window, more.
func (k *refusal) covers(ask *backend.Ask) bool {
	rule, hits := ask.Rule.Limit, max(ask.Hits, 1)
	if ask.Hits < 0 || rule != k.limit && *rule != *k.limit {
		return false
	}
	return hits == k.hits || hits > k.hits && rule.Kind() == algorithms.FixedWindow
}

// again is the answer as it is at now.
func (k *refusal) again(hits, now int64) backend.Answer {
	a := k.answer
	passed := time.Duration(max(now-k.at, 0))
	a.Source = backend.FromCache
	a.Now += int64(passed)
	a.ResetAfter = max(a.ResetAfter-passed, 0)
	switch {
	case a.RetryAfter == algorithms.Never:
	case hits > k.limit.Capacity():
		a.RetryAfter = algorithms.Never
	default:
		a.RetryAfter -= passed
	}
	return a
}

// remember keeps a refusal, unless a refund has come since it was asked for.
func (s *refusalShard) remember(key refusalKey, known *refusal, refunds uint64, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refunds != refunds {
		return
	}
	if _, found := s.entries[key]; !found && len(s.entries) >= most {
		s.evictLocked(known.at)
	}
	s.entries[key] = *known
}

// evictLocked makes room: what has ended of a sample, else any one.
func (s *refusalShard) evictLocked(now int64) {
	looked, victim, ended := 0, refusalKey{}, 0
	for key := range s.entries {
		if s.entries[key].until <= now {
			delete(s.entries, key)
			ended++
		}
		victim = key
		if looked++; looked == evictionSample {
			break
		}
	}
	if ended == 0 {
		delete(s.entries, victim)
	}
}

func (s *refusalShard) forget(key refusalKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
}

// refunded forgets a key, and keeps what is under way from being remembered.
func (s *refusalShard) refunded(key refusalKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
	s.refunds++
}
