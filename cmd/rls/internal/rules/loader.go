package rules

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// settled is how many polls in a row have to see the same before it is loaded,
// and restless how many may go by without that: what changes all the time is
// loaded as it is found then.
const (
	settled  = 5
	restless = 30
)

// Loader keeps the active set of a directory of rule files.
type Loader struct {
	path    string
	options Options
	metrics *telemetry.Metrics
	log     *zap.Logger
	now     func() time.Time

	// Prepare is called with every set before it becomes active; it may be nil.
	Prepare func(*Set)

	state   atomic.Pointer[State]
	loads   int    // that succeeded
	tried   string // what the last load saw: a hash, or why it could not be read
	seen    string // what the last poll saw
	repeat  int    // how many polls have seen that in a row
	waiting int    // how many polls ago something else than what is loaded was first seen
}

// State is what is in force, and what the last load said.
type State struct {
	Active *Set     // nil as long as none was loaded
	Errors []string // of the last load; empty if it succeeded
}

// NewLoader makes a Loader that has loaded nothing yet.
func NewLoader(path string, o Options, metrics *telemetry.Metrics, log *zap.Logger, now func() time.Time) *Loader {
	l := &Loader{path: path, options: o, metrics: metrics, log: log, now: now}
	l.state.Store(&State{})
	return l
}

// Active is the set in force; nil as long as none was loaded.
func (l *Loader) Active() *Set { return l.state.Load().Active }

// State is the set in force and what the last load said.
func (l *Loader) State() State { return *l.state.Load() }

// Load reads the files now and, if they have no error, makes them the active
// set. An error of the directory itself is returned; what is wrong inside the
// files is logged and counted.
func (l *Loader) Load() error {
	sources, err := Read(l.path, l.options)
	if err != nil {
		return err
	}
	l.seen, l.repeat = l.fingerprint(sources, nil), settled
	l.load(sources, nil)
	return nil
}

// Watch polls the files until ctx ends. It loads what differs from the last load
// once some polls in a row have seen the same, so that a file which is being
// written, or deleted and made again, is not read half-way. It reads contents
// rather than wait for notices, because none come for some mounts, links and
// renames.
func (l *Loader) Watch(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.poll()
		}
	}
}

func (l *Loader) poll() {
	sources, err := Read(l.path, l.options)
	seen := l.fingerprint(sources, err)
	if seen != l.seen {
		l.seen, l.repeat = seen, 0
	}
	l.repeat++
	l.waiting++
	if seen == l.tried {
		l.waiting = 0
	} else if l.repeat >= settled || l.waiting >= restless {
		l.waiting = 0
		l.load(sources, err)
	}
}

func (l *Loader) fingerprint(sources []descriptors.Source, err error) string {
	if err != nil {
		return err.Error()
	}
	return hash(l.path, sources)
}

func (l *Loader) load(sources []descriptors.Source, err error) {
	l.tried = l.fingerprint(sources, err)
	if err != nil {
		l.refuse([]string{err.Error()})
		return
	}
	tree, findings := Compile(sources, l.options)
	if err := findings.Err(); err != nil {
		l.refuse(strings.Split(err.Error(), "\n"))
		return
	}
	for _, f := range findings {
		l.log.Warn("rule file", zap.Stringer("finding", f))
	}
	l.loads++
	set := Bind(tree, l.options, l.metrics)
	set.Hash, set.Version, set.LoadedAt = l.tried, l.loads, l.now()
	if l.Prepare != nil {
		l.Prepare(set)
	}
	old := l.state.Swap(&State{Active: set}).Active
	l.forget(old, set)
	l.metrics.Loaded(l.path, set.Hash, len(tree.Rules), set.LoadedAt)
	l.log.Info("rules loaded", zap.String("config", l.path), zap.Int("files", len(sources)),
		zap.Int("rules", len(tree.Rules)), zap.Int("version", set.Version), zap.String("hash", set.Hash))
}

func (l *Loader) refuse(errors []string) {
	active := l.Active()
	l.state.Store(&State{Active: active, Errors: errors})
	l.metrics.Refused()
	l.log.Error("rules refused", zap.String("config", l.path), zap.Strings("errors", errors), zap.Bool("old_rules_stay", active != nil))
}

// forget drops the series of rules that the new set no longer has.
func (l *Loader) forget(old, set *Set) {
	if old == nil {
		return
	}
	for s := range old.series {
		if !set.series[s] {
			l.metrics.Forget(s)
		}
	}
}
