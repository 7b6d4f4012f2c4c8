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

// Loader keeps the active set of a directory of rule files.
type Loader struct {
	path    string
	metrics *telemetry.Metrics
	log     *zap.Logger
	now     func() time.Time

	active atomic.Pointer[Set]
	tried  string // what the last load saw: a hash, or why it could not be read
	seen   string // what the last poll saw
}

// NewLoader makes a Loader that has loaded nothing yet.
func NewLoader(path string, metrics *telemetry.Metrics, log *zap.Logger, now func() time.Time) *Loader {
	return &Loader{path: path, metrics: metrics, log: log, now: now}
}

// Active is the set in force; nil as long as none was loaded.
func (l *Loader) Active() *Set { return l.active.Load() }

// Load reads the files now and, if they have no error, makes them the active
// set. An error of the directory itself is returned; what is wrong inside the
// files is logged and counted.
func (l *Loader) Load() error {
	sources, err := Read(l.path)
	if err != nil {
		return err
	}
	l.seen = hash(sources)
	l.load(sources, nil)
	return nil
}

// Watch polls the files until ctx ends. It loads what differs from the last load
// once two polls have seen the same, so that a file which is being written, or
// deleted and made again, is not read half-way. It reads contents rather than
// wait for notices, because none come for some mounts, links and renames.
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
	sources, err := Read(l.path)
	seen := fingerprint(sources, err)
	settled := seen == l.seen
	l.seen = seen
	if settled && seen != l.tried {
		l.load(sources, err)
	}
}

func fingerprint(sources []descriptors.Source, err error) string {
	if err != nil {
		return err.Error()
	}
	return hash(sources)
}

func (l *Loader) load(sources []descriptors.Source, err error) {
	l.tried = fingerprint(sources, err)
	if err != nil {
		l.refuse([]string{err.Error()})
		return
	}
	tree, findings := descriptors.Compile(sources, descriptors.Options{})
	if err := findings.Err(); err != nil {
		l.refuse(strings.Split(err.Error(), "\n"))
		return
	}
	for _, f := range findings {
		l.log.Warn("rule file", zap.Stringer("finding", f))
	}
	set := Bind(tree, l.tried, l.metrics)
	old := l.active.Swap(set)
	l.forget(old, set)
	l.metrics.Loaded(len(tree.Rules), float64(l.now().Unix()))
	l.log.Info("rules loaded", zap.String("config", l.path), zap.Int("files", len(sources)),
		zap.Int("rules", len(tree.Rules)), zap.String("hash", set.Hash))
}

func (l *Loader) refuse(errors []string) {
	l.metrics.Refused()
	l.log.Error("rules refused", zap.String("config", l.path), zap.Strings("errors", errors), zap.Bool("old_rules_stay", l.Active() != nil))
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
