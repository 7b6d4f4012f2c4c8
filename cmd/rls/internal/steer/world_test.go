package steer_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	"github.com/eb50146d/rls/pkg/descriptors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const oneRule = `
domain: shop
descriptors:
  - key: route
    value: /checkout
    rate_limit:
      algorithm: adaptive
      requests_per_unit: 400
      unit: second
      name: checkout
      adaptive: {min_limit: 50, max_limit: 2000, target: checkout}
`

// world is a Steering, its rules, and reporters whose words are put into book.
type world struct {
	*steer.Steering

	t       *testing.T
	now     time.Time
	set     *rules.Set
	metrics *telemetry.Metrics // of the set
	book    book
	logs    *observer.ObservedLogs
}

// book has what is to be taken next, by target.
type book struct {
	targets []string
	next    map[string][]feedback.Observation
}

func (b *book) SetTargets(targets []string) { b.targets = targets }

func (b *book) Take(target string) []feedback.Observation {
	taken := b.next[target]
	delete(b.next, target)
	return taken
}

func newWorld(t *testing.T, text string, board steer.Board, replica string) *world {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	w := &world{t: t, now: time.Unix(1_800_000_000, 0), book: book{next: map[string][]feedback.Observation{}}, logs: logs}
	w.Steering = steer.New(steer.Options{Book: &w.book, Board: board, Replica: replica, Log: zap.New(core), Now: func() time.Time { return w.now }, Patience: time.Minute})
	w.load(text)
	return w
}

func (w *world) load(text string) {
	w.t.Helper()
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "rules.yaml", Data: []byte(text)}}, descriptors.Options{})
	if tree == nil {
		w.t.Fatal(findings)
	}
	w.metrics = telemetry.New("test")
	w.set = rules.Bind(tree, rules.Options{}, w.metrics)
	w.Prepare(w.set)
}

// limit is the limit in force of the set's only or first adaptive rule.
func (w *world) limit() int64 { return w.set.Adaptive()[0].Limit().Limit.Limit() }

// pass lets hits through and refuses others, one a request.
func (w *world) pass(admitted, refused int) {
	flow := w.set.Adaptive()[0].Flow
	for range admitted {
		flow.Admit(1)
	}
	for range refused {
		flow.Refuse(1)
	}
}

// report puts a reporter's word about the second that ends age before now.
func (w *world) report(reporter string, age time.Duration, row adaptive.Row, startedKnown bool) {
	end := w.now.Add(-age)
	w.book.next["checkout"] = append(w.book.next["checkout"], feedback.Observation{
		Reporter: reporter, Start: end.Add(-time.Second), End: end, Row: row, StartedKnown: startedKnown,
	})
}

// second lets a second pass and ticks.
func (w *world) second() {
	w.now = w.now.Add(time.Second)
	w.Tick(w.t.Context())
}

// answers are n of one latency, of which some are errors.
func answers(started, ok, errors uint64, latency time.Duration) adaptive.Row {
	return adaptive.Row{Started: started, OK: ok, Errors: errors, Latency: adaptive.TwoPoint(ok+errors, latency.Seconds(), latency.Seconds())}
}

// busy is a healthy second in which more is asked for than the limit lets through.
func (w *world) busy() {
	n := w.limit()
	w.pass(int(n), 100)
	w.now = w.now.Add(time.Second)
	w.report("a", 0, answers(uint64(n), uint64(n), 0, 20*time.Millisecond), true)
	w.Tick(w.t.Context())
}

// overload is a second in which the target answers few requests, and slowly.
func (w *world) overload(delivered uint64) {
	n := w.limit()
	w.pass(int(n), 100)
	w.now = w.now.Add(time.Second)
	w.report("a", 0, answers(uint64(n), delivered, 0, time.Second), true)
	w.Tick(w.t.Context())
}
