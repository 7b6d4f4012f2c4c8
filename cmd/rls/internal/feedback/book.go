package feedback

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

const (
	maxReporters = 1000             // of a target
	maxOfOrigin  = 100              // of these, from one identity or address, whatever names it makes up
	oldest       = 10 * time.Second // since the end of a window that still counts
	silence      = time.Minute      // after which a reporter is forgotten
)

// Observation is what one reporter saw of one target since the last Take.
type Observation struct {
	Reporter     string    // of one origin, the same on all replicas
	Start, End   time.Time // on our clock; from the first window to the last where there were several
	Row          adaptive.Row
	StartedKnown bool // else Row.Started is 0
}

// Book keeps what reporters saw of the targets until it is taken. It holds
// nothing of other targets, and of each target a bounded number of reporters,
// each with a bounded number of figures. It is safe for concurrent use.
type Book struct {
	now     func() time.Time
	setting sync.Mutex // held by SetTargets
	targets atomic.Pointer[map[string]*target]
	counts  counts
}

// NewBook makes a Book without targets.
func NewBook(now func() time.Time) *Book {
	b := &Book{now: now}
	b.targets.Store(&map[string]*target{})
	return b
}

// SetTargets says which targets reports are kept of. What is kept of others is
// dropped.
func (b *Book) SetTargets(targets []string) {
	b.setting.Lock()
	defer b.setting.Unlock()
	old, next := *b.targets.Load(), make(map[string]*target, len(targets))
	for _, name := range targets {
		if next[name] = old[name]; next[name] == nil {
			next[name] = newTarget()
		}
	}
	b.targets.Store(&next)
}

// Targets are the names that reports are kept of, sorted.
func (b *Book) Targets() []string { return slices.Sorted(maps.Keys(*b.targets.Load())) }

func (b *Book) target(name string) *target { return (*b.targets.Load())[name] }

// Take gives what has come in about a target since the last Take, at most one
// Observation a reporter, sorted by reporter. Several reports of one reporter are
// added up; intervals of an access log come once they are complete.
func (b *Book) Take(name string) []Observation {
	t := b.target(name)
	if t == nil {
		return nil
	}
	taken := t.take(b.now())
	slices.SortFunc(taken, func(a, b Observation) int { return cmp.Compare(a.Reporter, b.Reporter) })
	return taken
}

// Reporters is how many have spoken of a target within the last minute.
func (b *Book) Reporters(name string) int {
	t := b.target(name)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(b.now())
	return len(t.reporters)
}

// add books a checked report.
func (b *Book) add(r *report) Outcome {
	t := b.target(r.target)
	if t == nil {
		return UnknownTarget
	}
	return t.add(r, b.now())
}

// target is what is kept of one target.
type target struct {
	mu        sync.Mutex
	reporters map[key]*reporter
	origins   map[string]int // how many reporters each has
	forgotten time.Time      // when reporters were last looked through
}

func newTarget() *target {
	return &target{reporters: map[key]*reporter{}, origins: map[string]int{}}
}

func (t *target) add(r *report, now time.Time) Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.reporters[r.reporter]
	if p != nil {
		p.heard = now // a reporter that is stuck is not forgotten, or it would be new again
	}
	switch {
	case now.Sub(r.end) > oldest:
		return Late
	case p != nil && p.repeats(r, now):
		return Repeat
	}
	if p = t.reporter(r.reporter, now); p == nil {
		return Full
	}
	p.add(r, now)
	return Accepted
}

// reporter finds or makes one; nil if there are too many. The caller holds the
// lock, here and below.
func (t *target) reporter(of key, now time.Time) *reporter {
	p := t.reporters[of]
	if p == nil {
		if t.full(of.origin) {
			t.forget(now)
		}
		if t.full(of.origin) {
			return nil
		}
		p = &reporter{}
		t.reporters[of] = p
		t.origins[of.origin]++
	}
	p.heard = now
	return p
}

func (t *target) full(origin string) bool {
	return len(t.reporters) >= maxReporters || t.origins[origin] >= maxOfOrigin
}

// forget drops silent reporters. It looks once a second at most, so that a flood
// of new names costs little.
func (t *target) forget(now time.Time) {
	if now.Sub(t.forgotten) < time.Second {
		return
	}
	t.forgotten = now
	maps.DeleteFunc(t.reporters, func(_ key, p *reporter) bool { return now.Sub(p.heard) > silence })
	clear(t.origins)
	for of := range t.reporters {
		t.origins[of.origin]++
	}
}

func (t *target) take(now time.Time) []Observation {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	var taken []Observation
	for of, p := range t.reporters {
		if o, ok := p.take(now); ok {
			o.Reporter = of.String()
			taken = append(taken, o)
		}
	}
	return taken
}

// log adds a second of an access log; false if there are too many reporters.
func (t *target) log(of key, now time.Time, second int64, delay time.Duration, row *adaptive.Row) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.reporter(of, now)
	if p == nil {
		return false
	}
	p.log(now, second, delay, row)
	return true
}
