package steer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

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

func TestGrowsAndCuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 20 {
		w.busy()
	}
	if got := w.limit(); got < 1800 {
		t.Errorf("limit %d after 20 healthy seconds, want 1800 at least", got)
	}
	w.overload(600)
	if got := w.limit(); got > 600 {
		t.Errorf("limit %d after a second that delivered 600, want at most that", got)
	}
	got := w.Limits()
	if len(got) != 1 || !strings.HasPrefix(got[0].GetReason(), "cut") {
		t.Errorf("limits %v, want one that was cut", got)
	}
}

// TestLateReports: what a report says is held against what passed in the seconds of
// which it tells, not in those since.
func TestLateReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	w.pass(400, 0)
	w.second() // to t+1
	w.pass(100, 0)
	w.second()
	w.pass(100, 0)
	w.second()
	w.pass(100, 50)
	w.now = w.now.Add(time.Second)
	w.report("a", 3*time.Second, answers(400, 300, 0, time.Second), true)
	w.Tick(t.Context())
	n := w.Standings()[0]
	if diff := cmp.Diff(300.0, n.Delivered, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("delivered: %s", diff)
	}
	if diff := cmp.Diff(3.0, n.ReportAge, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("age: %s", diff)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	if diff := cmp.Diff([]string{"checkout"}, w.book.targets); diff != "" {
		t.Error(diff)
	}
	for range 20 {
		w.busy()
	}
	before := w.limit()
	moved := w.Limits()[0].GetChangedAt()
	w.now = w.now.Add(time.Hour)
	w.load(strings.ReplaceAll(oneRule, "requests_per_unit: 400", "requests_per_unit: 300"))
	if got := w.limit(); got != before {
		t.Errorf("limit %d after a reload, want %d as before", got, before)
	}
	if got := w.Limits()[0].GetChangedAt(); !got.AsTime().Equal(moved.AsTime()) {
		t.Errorf("changed at %v, want %v", got.AsTime(), moved.AsTime())
	}
	for _, most := range []uint64{1000, 2500} {
		w.load(strings.ReplaceAll(oneRule, "max_limit: 2000", fmt.Sprintf("max_limit: %d", most)))
		if got := w.limit(); got != 1000 && got > before {
			t.Errorf("limit %d under a maximum of %d", got, most)
		}
		if got := w.Limits()[0].GetChangedAt().AsTime(); most == 1000 && !got.Equal(w.now) {
			t.Errorf("changed at %v by a reload at %v", got, w.now)
		}
		for range 20 {
			w.busy()
		}
		if got := w.Limits()[0]; got.GetRequestsPerUnit() != most || got.GetMaxLimit() != most {
			t.Errorf("%v, want %d", got, most)
		}
	}
	w.load("domain: shop\ndescriptors: [{key: a, rate_limit: {requests_per_unit: 1, unit: day}}]")
	w.second()
	if got := w.Limits(); len(got) != 0 || len(w.book.targets) != 0 {
		t.Errorf("limits %v of targets %q, want none", got, w.book.targets)
	}
	w.load(oneRule)
	if got := w.limit(); got != 400 {
		t.Errorf("limit %d of a rule that is there again, want 400", got)
	}
}

// TestUnit: a rule of another unit than the second is steered alike.
func TestUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.NewReplacer("unit: second", "unit: minute", "400", "24000", "50", "3000", "2000", "120000").Replace(oneRule), nil, "")
	for range 20 {
		n := w.limit() / 60
		w.pass(int(n), 100)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(uint64(n), uint64(n), 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if got := w.limit(); got < 108_000 || got > 120_000 {
		t.Errorf("limit %d a minute, want 108000 to 120000", got)
	}
	for range 30 {
		n := w.limit() / 60
		w.pass(int(n), 100)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(uint64(n), 0, uint64(n), time.Second), true)
		w.Tick(t.Context())
	}
	if got := w.limit(); got != 3000 {
		t.Errorf("limit %d a minute, want the minimum, 3000", got)
	}
}

// TestWholeHits: a rate that is no exact number of hits a second is the number of
// hits that the file says.
func TestWholeHits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.NewReplacer("unit: second", "unit: minute", "400", "123").Replace(oneRule), nil, "")
	w.second()
	if got := w.limit(); got != 123 {
		t.Errorf("limit %d a minute, want 123", got)
	}
}

// TestGoals: what a rule says of its target's health is what it is steered by.
func TestGoals(t *testing.T) {
	t.Parallel()
	seconds := func(ms int) float64 { return float64(ms) / 1000 }
	tests := []struct {
		name     string
		adaptive string // beside the bounds
		p50, p99 int    // ms
		errors   uint64 // of 400
		cut      bool
	}{
		{"errors below the standard ratio", "", 20, 40, 16, false},
		{"errors above it", "", 20, 40, 24, true},
		{"errors below a ratio of the rule's", ", error_ratio: 0.5", 20, 40, 160, false},
		{"errors above a ratio of the rule's", ", error_ratio: 0.02", 20, 40, 16, true},
		{"p99 below its threshold", ", latency: {quantile: 0.99, threshold: 100ms}", 20, 90, 0, false},
		{"p99 above its threshold", ", latency: {quantile: 0.99, threshold: 100ms}", 20, 200, 0, true},
		{"p50 below its threshold", ", latency: {quantile: 0.5, threshold: 100ms}", 90, 400, 0, false},
		{"p50 above its threshold", ", latency: {quantile: 0.5, threshold: 100ms}", 200, 400, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, strings.ReplaceAll(oneRule, ", target", test.adaptive+", target"), nil, "")
			for range 3 {
				w.pass(400, 100)
				w.now = w.now.Add(time.Second)
				w.report("a", 0, adaptive.Row{
					Started: 400, OK: 400 - test.errors, Errors: test.errors, Latency: adaptive.TwoPoint(400, seconds(test.p50), seconds(test.p99)),
				}, true)
				w.Tick(t.Context())
			}
			if got := w.limit(); (got < 400) != test.cut {
				t.Errorf("limit %d, want a cut: %v", got, test.cut)
			}
		})
	}
}

// TestRefusalsAreUse: a limit that refuses is in use, however little it admits.
func TestRefusalsAreUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 5 {
		w.pass(100, 50)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(100, 100, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if got := w.limit(); got <= 400 {
		t.Errorf("limit %d, want growth", got)
	}
}

// TestFutureReports: a reporter whose clock is ahead is as one that is up to date.
func TestFutureReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	w.pass(400, 0)
	w.now = w.now.Add(time.Second)
	w.report("a", -300*time.Millisecond, answers(400, 400, 0, 20*time.Millisecond), true)
	w.Tick(t.Context())
	if got := w.Standings()[0]; got.ReportAge != 0 || got.Delivered != 400 {
		t.Errorf("%+v, want 400 a second as of now", got)
	}
}

const twoRules = `
domain: shop
descriptors:
  - {key: a, value: a, rate_limit: {algorithm: adaptive, requests_per_unit: 400, unit: second, adaptive: {min_limit: 50, max_limit: 2000, target: checkout}}}
  - {key: b, value: b, rate_limit: {algorithm: adaptive, requests_per_unit: 400, unit: second, adaptive: {min_limit: 50, max_limit: 2000, target: checkout}}}
`

// TestTwoRules: rules of one target hear the same reports, each with its own flow.
func TestTwoRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twoRules, nil, "")
	for range 10 {
		w.busy() // of the first rule
	}
	standings := w.Standings()
	if a, b := standings[0], standings[1]; a.Limit <= 400 || b.Limit != 400 || a.Reporters != 1 || b.Reporters != 1 {
		t.Errorf("%+v and %+v, want growth of the first alone and a reporter of both", a, b)
	}
}

// TestTarget: a rule with another target begins anew, since what it knows is not
// about that one.
func TestTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 20 {
		w.busy()
	}
	w.load(strings.ReplaceAll(oneRule, "target: checkout", "target: cart"))
	w.second()
	if got := w.Standings()[0]; got.Limit != 400 || got.Baseline != 0 || got.Target != "cart" {
		t.Errorf("%+v, want a new start", got)
	}
}

// TestDoubtOfTargets: reports are held against what passed all rules of their target.
func TestDoubtOfTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, twoRules, nil, "")
	for range 5 {
		for _, r := range w.set.Adaptive() {
			for range 100 {
				r.Flow.Admit(1)
			}
		}
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(200, 200, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if n := w.logs.FilterMessageSnippet("another number of requests").Len(); n != 0 {
		t.Errorf("%d warnings, though 100 and 100 are 200", n)
	}
}

// TestManyKeys: where each key has the limit for itself, what passes all of them
// together is above it, which is no overload and no use of it.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(oneRule, "    value: /checkout\n", "")
	w := newWorld(t, text, nil, "")
	for range 10 {
		w.pass(4000, 0)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(4000, 4000, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if got := w.limit(); got != 400 {
		t.Errorf("limit %d while no key is refused, want 400", got)
	}
	w.pass(4000, 10)
	w.now = w.now.Add(time.Second)
	w.report("a", 0, answers(4000, 1000, 0, time.Second), true)
	w.Tick(t.Context())
	if got := w.limit(); got > 100 {
		t.Errorf("limit %d for each key after a quarter was delivered, want 100 at most", got)
	}
}

// TestUnknownStarts: reporters that do not say how many requests began are taken to
// see as large a part of the traffic as they did in good times.
func TestUnknownStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	half := func(answered uint64, latency time.Duration) {
		w.pass(400, 100)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(0, answered/2, 0, latency), false)
		w.report("b", 0, answers(0, answered-answered/2, 0, latency), false)
		w.Tick(t.Context())
	}
	for range 10 {
		half(200, 20*time.Millisecond) // of 400: another proxy does not report
	}
	if got := w.Standings()[0].Delivered; got < 390 || got > 410 {
		t.Errorf("%.1f a second delivered, want about 400", got)
	}
	half(100, time.Second)
	if got := w.Standings()[0].Delivered; got < 190 || got > 210 {
		t.Errorf("%.1f a second delivered, want about 200", got)
	}
	for range 20 {
		half(100, time.Second)
	}
	if got := w.Standings()[0].Delivered; got > 210 {
		t.Errorf("%.1f a second delivered: an overload was taken for a smaller part of the traffic", got)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	if got := w.Standings()[0]; got.ReportAge != -1 || !got.Moved.IsZero() || got.Reason != "at the start" {
		t.Errorf("before the first tick: %+v", got)
	}
	w.busy()
	for range 3 {
		w.pass(400, 100)
		w.second()
	}
	got := w.Standings()[0]
	if got.Reporters != 0 || got.ReportAge != 3 || !strings.Contains(got.Reason, "no reports") {
		t.Errorf("three seconds after the last report: %+v", got)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 20 {
		w.busy()
	}
	moves := w.logs.FilterMessage("adaptive limit moved").All()
	last := int64(400)
	for _, m := range moves {
		fields := m.ContextMap()
		from, okFrom := fields["from"].(int64)
		to, okTo := fields["to"].(int64)
		if !okFrom || !okTo || from != last || to <= from*11/10 || fields["reason"] == "" || fields["rule"] != "checkout" || fields["domain"] != "shop" {
			t.Errorf("logged %v, want a move from %d by more than a tenth", fields, last)
		}
		last = to
	}
	if len(moves) < 5 || last < w.limit()*10/11 {
		t.Errorf("%d moves were logged, the last to %d of %d", len(moves), last, w.limit())
	}
}

func TestDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 130 {
		w.pass(100, 0)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(300, 300, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	warnings := func() int { return w.logs.FilterMessageSnippet("another number of requests").Len() }
	if n := warnings(); n != 3 {
		t.Errorf("%d warnings in 130 s, want one a minute", n)
	}
	for _, started := range []uint64{40, 60, 140} {
		w.now = w.now.Add(time.Minute)
		w.second()
		w.pass(100, 0)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(started, started, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if n := warnings(); n != 4 {
		t.Errorf("%d warnings after 40, 60 and 140 of 100, want one more", n-3)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	w.busy()
	want := []*feedbackv1.Limit{{
		Domain: "shop", Rule: "checkout", Target: "checkout", RequestsPerUnit: 408, MinLimit: 50, MaxLimit: 2000, Reason: "growing",
	}}
	got := w.Limits()
	if at := got[0].GetChangedAt().AsTime(); !at.Equal(w.now) {
		t.Errorf("changed at %v, want %v", at, w.now)
	}
	got[0].ChangedAt = nil
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(feedbackv1.Limit{})); diff != "" {
		t.Error(diff)
	}
	if steer.Interval != time.Second {
		t.Error("the controller is made for ticks of a second")
	}
}

// TestClockSetBack goes on, and forgets what it cannot place in time.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for range 3 {
		w.busy()
	}
	w.now = w.now.Add(-time.Hour)
	before := w.limit()
	for range 3 {
		w.busy()
	}
	if got := w.limit(); got <= before {
		t.Errorf("limit %d after three healthy seconds, was %d", got, before)
	}
}
