package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

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

// TestStraddle: reports that come about the time of the ticks are outvoted no less than
// those that come between.
func TestStraddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	for i := range 20 {
		w.pass(400, 100)
		w.now = w.now.Add(time.Second)
		if i%2 == 0 {
			w.report("a", 0, answers(200, 200, 0, 20*time.Millisecond), true)
			w.report("b", 0, answers(200, 200, 0, 20*time.Millisecond), true)
		} else {
			w.report("liar", 0, answers(400, 0, 400, time.Second), true)
		}
		w.Tick(t.Context())
		if n := w.Standings()[0]; i > 0 && (n.Reporters != 3 || n.ReportAge != float64(i%2)) {
			t.Errorf("%d reporters at %d s, whose news are %v s old; want 3, and those of most of them", n.Reporters, i, n.ReportAge)
		}
	}
	for _, all := range []string{"a", "b", "liar"} {
		w.report(all, 0, answers(200, 200, 0, 20*time.Millisecond), true)
	}
	w.second()
	w.now = w.now.Add(time.Second)
	w.report("a", 0, answers(200, 200, 0, 20*time.Millisecond), true)
	w.second() // two later
	if n := w.Standings()[0]; n.Reporters != 1 {
		t.Errorf("%d reporters after a longer pause, want 1", n.Reporters)
	}
	w.second()
	if n := w.Standings()[0]; n.Limit <= 400 || n.Reporters != 0 {
		t.Errorf("%+v, want growth, and no reporters in a second without news", n)
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
	if got := w.Standings()[0]; got.ReportAge != 0 || got.Fresh || !got.Moved.IsZero() || got.Reason != "at the start" {
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
