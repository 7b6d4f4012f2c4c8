// Package reports has a test for each fault of rate limiters that their users
// reported in public and that one process with a clock of its own can show. The
// name of a test begins with the report's number in our list: WC is wrong counts,
// CF configuration, WM wildcards, AL algorithms, SE security.
package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is on the grid of every unit up to a day: 2026-09-22 is 20718 days after
// the epoch.
const noon = 20718 * 24 * int64(time.Hour)

// world is what answers Envoy, with rule files in a folder of its own and a clock
// that stands still until it is moved.
type world struct {
	t       *testing.T
	file    string
	loader  *rules.Loader
	store   *local.Local
	service *service.Service
	metrics *telemetry.Metrics
	logs    *observer.ObservedLogs
	now     atomic.Int64 // ns since the epoch
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	w := &world{t: t, file: filepath.Join(t.TempDir(), "rules.yaml"), metrics: telemetry.New("test"), logs: logs}
	w.now.Store(noon)
	clock := func() time.Time { return time.Unix(0, w.now.Load()) }
	w.loader = rules.NewLoader(filepath.Dir(w.file), rules.Options{}, w.metrics, zap.New(core), clock)
	w.reload(text)
	w.store = local.New(local.Options{Now: w.now.Load, MaxKeys: 10_000})
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.service = service.New(service.Config{
		Rules: w.loader.Active, Store: w.store, Metrics: w.metrics, Log: zap.New(core), Now: clock,
		Headers: service.Headers{RetryAfter: true},
	})
	return w
}

// reload puts other rules in force, which must have no error.
func (w *world) reload(text string) {
	w.t.Helper()
	put(w.t, w.file, text)
	if err := w.loader.Load(); err != nil {
		w.t.Fatal(err)
	}
	if errors := w.loader.State().Errors; errors != nil {
		w.t.Fatal(errors)
	}
}

func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

// answers asks and gives every answer. It is safe for concurrent use.
func (w *world) answers(text string) []*codec.Response {
	w.t.Helper()
	c, err := parse(text)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	answers := make([]*codec.Response, c.times)
	for i := range answers {
		answers[i] = w.one(c.fill)
	}
	return answers
}

// one asks the request that fill writes.
func (w *world) one(fill func(*codec.Request)) *codec.Response {
	w.t.Helper()
	a, err := w.service.Answer(w.t.Context(), func(to any) error {
		q, ok := to.(*codec.Request)
		if ok {
			fill(q)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
		return &codec.Response{}
	}
	return a
}

// is compares the overall codes of the answers, such as "5 OK, 3 OVER".
func (w *world) is(text, want string) {
	w.t.Helper()
	if got := runs(w.answers(text)); got != want {
		w.t.Errorf("%s: %s, want %s", text, got, want)
	}
}

// says compares the statuses of the last answer, such as "OK, rem 2", with /
// between those of several descriptors.
func (w *world) says(text, want string) {
	w.t.Helper()
	var statuses []string
	answers := w.answers(text)
	for _, s := range answers[len(answers)-1].Statuses {
		statuses = append(statuses, words(s))
	}
	if diff := cmp.Diff(want, strings.Join(statuses, " / ")); diff != "" {
		w.t.Errorf("%s: %s", text, diff)
	}
}

// ok is how many of the answers are OK.
func (w *world) ok(text string) int {
	w.t.Helper()
	answers := w.answers(text)
	return len(slices.DeleteFunc(answers, func(a *codec.Response) bool { return a.Code != codec.OK }))
}

// findings are what rls check says of rules, a line each, without the file's name.
func findings(t *testing.T, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, file, text)
	sources, err := rules.Read(file, rules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, all := rules.Compile(sources, rules.Options{})
	lines := make([]string, len(all))
	for i, f := range all {
		lines[i] = strings.TrimPrefix(f.String(), file+":")
	}
	return lines
}

// kind is an algorithm with its variant.
type kind struct {
	name, words string
	window      bool // it counts in windows; otherwise it is a bucket
}

func kinds() []kind {
	return []kind{
		{"fixed_window", "algorithm: fixed_window", true},
		{"fixed_window first", "algorithm: fixed_window, align: first", true},
		{"sliding_window", "algorithm: sliding_window", true},
		{"sliding_window buckets", "algorithm: sliding_window, buckets: 10", true},
		{"sliding_window log", "algorithm: sliding_window, variant: log", true},
		{"token_bucket", "algorithm: token_bucket", false},
		{"leaky_bucket", "algorithm: leaky_bucket", false},
		{"leaky_bucket queue", "algorithm: leaky_bucket, mode: queue", false},
		{"gcra", "algorithm: gcra", false},
		{"adaptive", "algorithm: adaptive, adaptive: {min_limit: 1, max_limit: 1000}", false},
	}
}

// limit is a rate_limit of n per unit, with more words if need be.
func (k kind) limit(n int, unit string, more ...string) string {
	return "rate_limit: {" + strings.Join(append([]string{k.words, fmt.Sprint("requests_per_unit: ", n), "unit: " + unit}, more...), ", ") + "}"
}

// rule is a file with one rule, for each value of k.
func (k kind) rule(n int, unit string, more ...string) string {
	return "domain: t\ndescriptors:\n  - key: k\n    " + k.limit(n, unit, more...) + "\n"
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
