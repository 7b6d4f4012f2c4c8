// Package steer moves the limits of adaptive rules, once a tick, by what reporters
// say of their targets and by what this process let pass.
package steer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// Interval is the time between two ticks.
const Interval = time.Second

// shareTimeout is how long a tick may wait for the other replicas.
const shareTimeout = Interval / 2

// turn is how long one replica steers for all: less than an interval, so that the
// next tick finds a turn to take.
const turn = 9 * Interval / 10

// Book has what reporters said.
type Book interface {
	SetTargets(targets []string)
	Take(target string) []feedback.Observation
}

// Board is where replicas share what they know.
type Board interface {
	Share(ctx context.Context, name, replica string, row []byte, turn time.Duration) (redis.Shared, error)
	Keep(ctx context.Context, name string, state []byte) error
}

// Options are what a Steering needs.
type Options struct {
	Book    Book
	Board   Board  // nil: this process steers by itself
	Replica string // this process among those of the board
	Log     *zap.Logger
	Now     func() time.Time
}

// Steering moves the limits of all adaptive rules. It is safe for concurrent use.
type Steering struct {
	o Options

	mu     sync.Mutex
	pilots map[ruleID]*pilot
	order  []*pilot // by domain and rule
	shown  atomic.Pointer[[]*pilot]
	alone  bool // the board did not answer last time
}

// ruleID says which rule of one set is which of the next.
type ruleID struct{ domain, label string }

// New makes a Steering of no rules.
func New(o Options) *Steering {
	s := &Steering{o: o, pilots: map[ruleID]*pilot{}}
	s.shown.Store(new([]*pilot))
	return s
}

// Prepare takes over the adaptive rules of a set that is about to become active.
// Those that were there before go on where they are.
func (s *Steering) Prepare(set *rules.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	old := s.pilots
	s.pilots = map[ruleID]*pilot{}
	var order []*pilot
	var targets []string
	for _, b := range set.Adaptive() {
		id := ruleID{b.Domain, b.Label()}
		p := old[id]
		if p == nil {
			p = newPilot(id, s.o.Log, now)
		}
		p.take(b)
		s.pilots[id] = p
		order = append(order, p)
		targets = append(targets, b.Adaptive.Target)
	}
	slices.SortFunc(order, func(a, b *pilot) int {
		return strings.Compare(a.id.domain+"\x00"+a.id.label, b.id.domain+"\x00"+b.id.label)
	})
	s.order = order
	s.shown.Store(&order)
	s.o.Book.SetTargets(targets)
}

// Run ticks until ctx ends.
func (s *Steering) Run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.Tick(ctx)
		}
	}
}

// Tick moves every limit once.
func (s *Steering) Tick(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return
	}
	now := s.o.Now()
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	taken := map[string][]feedback.Observation{} // by target, which rules may share
	var failed error
	for _, p := range s.order {
		seen, ok := taken[p.target]
		if !ok {
			seen = s.o.Book.Take(p.target)
			taken[p.target] = seen
		}
		own := p.observe(now, seen)
		if s.o.Board == nil || failed != nil {
			p.steerAlone(now, own)
			continue
		}
		if failed = p.steerTogether(ctx, s.o.Board, s.o.Replica, own, now); failed != nil {
			p.steerAlone(now, own)
		}
	}
	s.tell(failed)
}

// tell logs when replicas part and when they are together again.
func (s *Steering) tell(failed error) {
	if alone := failed != nil; alone != s.alone {
		s.alone = alone
		if alone {
			s.o.Log.Warn("adaptive rules: this replica steers by itself, since redis does not answer", zap.Error(failed))
		} else {
			s.o.Log.Info("adaptive rules: replicas steer together again")
		}
	}
}
