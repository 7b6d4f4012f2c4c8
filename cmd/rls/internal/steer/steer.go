// Package steer moves the limits of adaptive rules, once a tick, by what reporters
// say of their targets and by what this process let pass.
package steer

import (
	"context"
	"maps"
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

// Book has what reporters said.
type Book interface {
	SetTargets(targets []string)
	Take(target string) []feedback.Observation
}

// Options are what a Steering needs.
type Options struct {
	Book    Book
	Board   Board  // nil: this process steers by itself
	Replica string // this process among those of the board
	Log     *zap.Logger
	Now     func() time.Time
	// Patience is how long a tick may wait for what others know, and half of it for
	// what it keeps for them; 0 = half an Interval.
	Patience time.Duration
}

// Steering moves the limits of all adaptive rules. It is safe for concurrent use.
type Steering struct {
	o Options

	mu      sync.Mutex
	pilots  map[ruleID]*pilot
	order   []*pilot            // by domain and rule
	targets map[string]*history // what passed to targets of several rules
	shown   atomic.Pointer[[]*pilot]
	alone   bool // the board did not answer last time
	leads   bool // this replica stepped for all last time
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
	rulesOf := map[string]int{}
	for _, b := range set.Adaptive() {
		id := ruleID{b.Domain, b.Label()}
		p := old[id]
		if p == nil {
			p = newPilot(id, s.o.Log, now)
		}
		p.take(b, now)
		s.pilots[id] = p
		order = append(order, p)
		rulesOf[p.target]++
	}
	slices.SortFunc(order, func(a, b *pilot) int {
		return strings.Compare(a.id.domain+"\x00"+a.id.label, b.id.domain+"\x00"+b.id.label)
	})
	s.order = order
	s.shown.Store(&order)
	s.o.Book.SetTargets(slices.Sorted(maps.Keys(rulesOf)))
	s.share(rulesOf, now)
}

// share counts what passes to targets of several rules.
func (s *Steering) share(rulesOf map[string]int, now time.Time) {
	old := s.targets
	s.targets = map[string]*history{}
	for target, n := range rulesOf {
		if n < 2 { //nolint:mnd // several
			continue
		}
		if s.targets[target] = old[target]; s.targets[target] == nil {
			s.targets[target] = &history{last: now}
		}
	}
}

// Tick moves every limit once.
func (s *Steering) Tick(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	rows := s.observe(now)
	if s.o.Board == nil {
		for i, p := range s.order {
			p.steerAlone(now, rows[i])
		}
		return
	}
	s.tell(s.steerTogether(ctx, now, rows))
	for i, p := range s.order {
		if p.unsteered {
			p.steerAlone(now, rows[i])
		}
	}
}

// observe ends a tick: what this replica knows of each rule.
func (s *Steering) observe(now time.Time) []row {
	taken := map[string][]feedback.Observation{}
	counts := map[string]rules.Counts{}
	for _, p := range s.order {
		if _, ok := taken[p.target]; !ok {
			taken[p.target] = s.o.Book.Take(p.target)
		}
		c := p.flow.Take()
		p.history.add(now, c)
		counts[p.target] = counts[p.target].Plus(c)
	}
	for target, h := range s.targets {
		h.add(now, counts[target])
	}
	rows := make([]row, len(s.order))
	for i, p := range s.order {
		rows[i] = p.row(now, taken[p.target])
		if h := s.targets[p.target]; h != nil {
			rows[i].Target = h.passages(now)
		}
	}
	return rows
}

// tell logs when replicas part and when they are together again.
func (s *Steering) tell(failed error) {
	alone := failed != nil
	if alone == s.alone {
		return
	}
	s.alone = alone
	switch {
	case !alone:
		s.o.Log.Info("adaptive rules: replicas steer together again")
	case redis.KindOf(failed) == redis.Timeout:
		s.o.Log.Warn("adaptive rules: this replica steers some by itself, since redis did not answer for all in time", zap.Error(failed))
	default:
		s.o.Log.Warn("adaptive rules: this replica steers by itself, since redis fails", zap.Error(failed))
	}
}
