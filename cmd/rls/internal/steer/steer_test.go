package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

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

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	check := func(want *feedbackv1.Limit) {
		t.Helper()
		want.Domain, want.Rule, want.Target, want.MinLimit, want.MaxLimit = "shop", "checkout", "checkout", 50, 2000
		if diff := cmp.Diff([]*feedbackv1.Limit{want}, w.Limits(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
	w.second()
	check(&feedbackv1.Limit{RequestsPerUnit: 400, Reason: "holding: no reports", ReportAge: durationpb.New(time.Second)})
	w.pass(400, 100)
	w.now = w.now.Add(time.Second)
	w.report("a", 250*time.Millisecond, answers(400, 300, 0, 20*time.Millisecond), true)
	w.Tick(t.Context())
	moved := w.now
	pace := w.Limits()[0].GetLatency() // to the bucket
	if got := pace.AsDuration(); got < 19*time.Millisecond || got > 21*time.Millisecond || got%time.Microsecond != 0 {
		t.Errorf("latency %v, want about 20ms", got)
	}
	delivered := 225.0 // a quarter of the interval is of the second before, in which nothing passed
	check(&feedbackv1.Limit{
		RequestsPerUnit: 406, Reason: "growing", ChangedAt: timestamppb.New(moved), Latency: pace, Baseline: pace,
		DeliveredPerSecond: &delivered, Reporters: 1, ReportAge: durationpb.New(250 * time.Millisecond),
	})
	for range 31 {
		w.second()
	}
	check(&feedbackv1.Limit{
		RequestsPerUnit: 406, Reason: w.Standings()[0].Reason, ChangedAt: timestamppb.New(moved), Baseline: pace, ReportAge: durationpb.New(31250 * time.Millisecond),
	})
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
