package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

const (
	one   = "domain: shop\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: minute}}]\n"
	two   = "domain: shop\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 2, unit: minute}}]\n"
	wrong = "domain: shop\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 2, unit: minutes}}]\n"
)

// place is a directory of rule files and a loader of it.
type place struct {
	t       *testing.T
	dir     string
	loader  *Loader
	metrics *telemetry.Metrics
	logs    *observer.ObservedLogs
}

func newPlace(t *testing.T) *place {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	p := &place{t: t, dir: t.TempDir(), metrics: telemetry.New("test"), logs: logs}
	p.loader = NewLoader(p.dir, Options{}, p.metrics, zap.New(core), func() time.Time { return time.Unix(1000, 0) })
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) polls(n int) {
	for range n {
		p.loader.poll()
	}
}

// limit is the limit in force; 0 if there is none.
func (p *place) limit() int64 {
	set := p.loader.Active()
	if set == nil || len(set.bound) == 0 {
		return 0
	}
	return set.bound[0].Limit().Limit.Limit()
}

func (p *place) want(limit int64, ok, refused int) {
	p.t.Helper()
	if got := p.limit(); got != limit {
		p.t.Errorf("limit %d in force, want %d", got, limit)
	}
	got := strings.Join([]string{
		"# HELP rls_config_reloads_total Loads of the rule files, by result.", "# TYPE rls_config_reloads_total counter",
		"rls_config_reloads_total{result=\"error\"} " + string(rune('0'+refused)), "rls_config_reloads_total{result=\"ok\"} " + string(rune('0'+ok)), "",
	}, "\n")
	if err := testutil.GatherAndCompare(p.metrics.Registry, strings.NewReader(got), "rls_config_reloads_total"); err != nil {
		p.t.Error(err)
	}
	if lines := p.logs.FilterMessageSnippet("rules ").Len(); lines != ok+refused {
		p.t.Errorf("%d log lines, want one a load, %d", lines, ok+refused)
	}
}

// TestReload: a change is in force when two polls have seen it, an error keeps
// what is in force, and each load is logged and counted once.
func TestReload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", one)
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	p.want(1, 1, 0)
	polls := p.polls
	polls(2 * settled)
	p.want(1, 1, 0)

	p.write("rules.yaml", two)
	polls(settled - 1)
	p.want(1, 1, 0)
	polls(settled)
	p.want(2, 2, 0)

	p.write("rules.yaml", wrong)
	polls(2 * settled)
	p.want(2, 2, 1)
	if text := fmt.Sprint(p.logs.FilterMessage("rules refused").All()[0].ContextMap()["errors"]); !strings.Contains(text, "rules.yaml:2:65: shop.k: unit is") {
		t.Errorf("logged %s, want the error with its place", text)
	}
	if state := p.loader.State(); len(state.Errors) != 1 || state.Active == nil || state.Active.Version != 2 {
		t.Errorf("%+v, want the error beside version 2", state)
	}

	p.write("rules.yaml", one)
	polls(settled - 1)
	p.write("rules.yaml", two) // while it was being looked at
	polls(settled - 1)
	p.want(2, 2, 1)
	polls(1)
	p.want(2, 3, 1)

	remove(t, filepath.Join(p.dir, "rules.yaml"))
	polls(settled - 1)
	p.write("rules.yaml", one) // deleted and made again: no moment without limits
	polls(settled)
	p.want(1, 4, 1)

	remove(t, filepath.Join(p.dir, "rules.yaml"))
	polls(settled)
	p.want(1, 4, 2)
	p.write("rules.yaml", two)
	polls(settled)
	p.want(2, 5, 2)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestRestless: files that change all the time are loaded all the same.
func TestRestless(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", one)
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	for i := range restless {
		p.write("rules.yaml", fmt.Sprintf("%s# %d\n", two, i))
		p.want(1, 1, 0)
		p.polls(1)
	}
	p.want(2, 2, 0)
}

// TestBrokenAtFirst: nothing is in force until the files are mended.
func TestBrokenAtFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", wrong)
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	p.want(0, 0, 1)
	p.write("rules.yaml", one)
	p.polls(settled)
	p.want(1, 1, 1)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", one)
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		go p.loader.Watch(t.Context(), time.Second)
		p.write("rules.yaml", two)
		time.Sleep((settled + 1) * time.Second) // of the bubble's clock
		synctest.Wait()
		p.want(2, 2, 0)
	})
}

// TestSeriesOfDroppedRules: a rule that goes takes its series with it, one that
// stays keeps its counts.
func TestSeriesOfDroppedRules(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", one)
	p.write("other.yaml", strings.Replace(one, "shop", "other", 1))
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	for _, b := range p.loader.Active().bound {
		b.Decisions.OK.Inc()
	}
	if err := os.Remove(filepath.Join(p.dir, "other.yaml")); err != nil {
		t.Fatal(err)
	}
	p.polls(settled)
	want := `
# HELP rls_decisions_total Descriptors decided, by rule, algorithm and verdict.
# TYPE rls_decisions_total counter
rls_decisions_total{algorithm="",domain="shop",rule="override",verdict="failed"} 0
rls_decisions_total{algorithm="",domain="shop",rule="override",verdict="ok"} 0
rls_decisions_total{algorithm="",domain="shop",rule="override",verdict="over_limit"} 0
rls_decisions_total{algorithm="",domain="shop",rule="override",verdict="shadowed"} 0
rls_decisions_total{algorithm="fixed_window",domain="shop",rule="shop.k",verdict="failed"} 0
rls_decisions_total{algorithm="fixed_window",domain="shop",rule="shop.k",verdict="ok"} 1
rls_decisions_total{algorithm="fixed_window",domain="shop",rule="shop.k",verdict="over_limit"} 0
rls_decisions_total{algorithm="fixed_window",domain="shop",rule="shop.k",verdict="shadowed"} 0
`
	if err := testutil.GatherAndCompare(p.metrics.Registry, strings.NewReader(want), "rls_decisions_total"); err != nil {
		t.Error(err)
	}
}

// TestLabelsOfAnyBytes: a rule file may hold what a metric's label may not.
func TestLabelsOfAnyBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.yaml", "domain: !!binary /w==\ndescriptors:\n  - {key: k, value: !!binary /w==, rate_limit: {requests_per_unit: 1, unit: day}}\n")
	if err := p.loader.Load(); err != nil {
		t.Fatal(err)
	}
	p.want(1, 1, 0)
	p.write("rules.yaml", one)
	p.polls(settled)
	p.want(1, 2, 0)
}
