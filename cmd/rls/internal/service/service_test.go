package service_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/descriptors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is on the grid of every unit up to a day: 2026-09-22 is 20718 days after
// the epoch.
const noon = 20718 * 24 * int64(time.Hour)

// bench is rules, a store whose clock stands still, and the evaluation between.
type bench struct {
	t     *testing.T
	set   *rules.Set
	store backend.Backend
	now   int64
	e     service.Evaluation

	options service.Options
}

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	return newBenchWith(t, rules.Options{}, text)
}

func newBenchWith(t *testing.T, o rules.Options, text string) *bench {
	t.Helper()
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "rules.yaml", Data: []byte(text)}}, descriptors.Options{})
	if tree == nil {
		t.Fatal(findings)
	}
	b := &bench{t: t, set: rules.Bind(tree, o, telemetry.New("test")), now: noon}
	store := local.New(local.Options{Now: func() int64 { return b.now }, MaxKeys: 1000})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.store = store
	return b
}

func (b *bench) ask(q *codec.Request) *codec.Response {
	b.t.Helper()
	if err := b.e.Run(b.t.Context(), b.options, b.set, b.store, q); err != nil {
		b.t.Fatal(err)
	}
	return b.e.Answer()
}

// descriptor has keys and values by turns.
func descriptor(pairs ...string) codec.Descriptor {
	var d codec.Descriptor
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, codec.Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

func request(d ...codec.Descriptor) *codec.Request {
	return &codec.Request{Domain: "t", Descriptors: d}
}

func hits(n uint64, d codec.Descriptor) codec.Descriptor {
	d.HasHitsAddend, d.HitsAddend = true, n
	return d
}

func refund(n uint64, d codec.Descriptor) codec.Descriptor {
	d = hits(n, d)
	d.Negative = true
	return d
}

func override(n uint32, unit descriptors.Unit, d codec.Descriptor) codec.Descriptor {
	d.HasLimit, d.Limit = true, codec.Override{RequestsPerUnit: n, Unit: int32(unit)}
	return d
}

func check(t *testing.T, want, got *codec.Response) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func named(name string) []codec.StringField {
	return []codec.StringField{{Key: "rls.rule", Value: name}}
}

// counted is the status of a rule of n requests a minute on the grid, at its beginning.
func counted(code codec.Code, n, remaining uint32) codec.Status {
	return codec.Status{
		Code: code, HasLimit: true, Limit: codec.Limit{RequestsPerUnit: n, Unit: int32(descriptors.Minute)}, Remaining: remaining,
		HasReset: true, Reset: time.Minute,
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: k, rate_limit: {requests_per_unit: 2, unit: minute}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: hour}}
`)
	ok := codec.Status{Code: codec.OK}
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{counted(codec.OK, 2, 1), ok}, DynamicMetadata: named("t.k")},
		b.ask(request(descriptor("k", "1"), descriptor("z", "1"))))
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{{Code: codec.OK, Remaining: math.MaxUint32}}},
		b.ask(request(descriptor("free", "1"))))
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.deny"), Statuses: []codec.Status{{
		Code: codec.OverLimit, HasLimit: true, Limit: codec.Limit{Unit: int32(descriptors.Hour)}, HasReset: true, Reset: time.Hour,
	}}}, b.ask(request(descriptor("deny", "1"))))
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{ok}},
		b.ask(&codec.Request{Domain: "T", Descriptors: []codec.Descriptor{descriptor("k", "1")}}))
}

// TestRefusedRequestChargesNothing: a rule that fits says OK with what it still
// has, and keeps it.
func TestRefusedRequestChargesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: wide, rate_limit: {requests_per_unit: 10, unit: minute}}
  - {key: narrow, rate_limit: {requests_per_unit: 1, unit: minute, name: slim}}
`)
	slim := func(code codec.Code) codec.Status {
		s := counted(code, 1, 0)
		s.Limit.Name = "slim"
		return s
	}
	both := func() *codec.Response { return b.ask(request(descriptor("wide", "1"), descriptor("narrow", "1"))) }
	check(t, &codec.Response{Code: codec.OK, DynamicMetadata: named("slim"), Statuses: []codec.Status{counted(codec.OK, 10, 9), slim(codec.OK)}}, both())
	for range 3 {
		check(t, &codec.Response{
			Code: codec.OverLimit, DynamicMetadata: named("slim"),
			Statuses: []codec.Status{counted(codec.OK, 10, 9), slim(codec.OverLimit)},
		}, both())
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	k := descriptor("k", "1")
	for _, row := range []struct {
		name      string
		requests  []*codec.Request
		code      codec.Code
		remaining uint32
	}{
		{"none is one", []*codec.Request{request(k)}, codec.OK, 9},
		{"of the request", []*codec.Request{{Domain: "t", Descriptors: []codec.Descriptor{k}, HitsAddend: 4}}, codec.OK, 6},
		{"of the descriptor go before", []*codec.Request{{Domain: "t", Descriptors: []codec.Descriptor{hits(2, k)}, HitsAddend: 4}}, codec.OK, 8},
		{"zero of the descriptor is a look", []*codec.Request{{Domain: "t", Descriptors: []codec.Descriptor{hits(0, k)}, HitsAddend: 4}}, codec.OK, 10},
		{"a look at nothing left", []*codec.Request{request(hits(10, k)), request(hits(0, k))}, codec.OverLimit, 0},
		{"refund", []*codec.Request{request(hits(10, k)), request(refund(3, k))}, codec.OK, 3},
		{"refund of what the request says", []*codec.Request{
			request(hits(10, k)),
			{Domain: "t", HitsAddend: 4, Descriptors: []codec.Descriptor{{Entries: k.Entries, Negative: true}}},
		}, codec.OK, 4},
		{"more than there are", []*codec.Request{request(hits(11, k))}, codec.OverLimit, 10},
		{"as many as there are numbers", []*codec.Request{request(hits(math.MaxUint64, k))}, codec.OverLimit, 10},
		{"a refund as large", []*codec.Request{request(hits(5, k)), request(refund(math.MaxUint64, k))}, codec.OK, 10},
		{"equal descriptors add up", []*codec.Request{request(hits(6, k), hits(6, k))}, codec.OverLimit, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 10, unit: minute}}]")
			var got *codec.Response
			for _, q := range row.requests {
				got = b.ask(q)
			}
			if got.Code != row.code || got.Statuses[0].Remaining != row.remaining {
				t.Errorf("code %d, remaining %d, want %d, %d", got.Code, got.Statuses[0].Remaining, row.code, row.remaining)
			}
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	const text = `
domain: t
descriptors:
  - {key: s, shadow_mode: true, rate_limit: {requests_per_unit: 1, unit: minute}}
  - {key: e, rate_limit: {requests_per_unit: 2, unit: minute}}
  - {key: q, quota_mode: true, rate_limit: {requests_per_unit: 1, unit: minute}}
  - {key: r, quota_mode: true, rate_limit: {requests_per_unit: 2, unit: minute}}
`
	s, e, q, r := descriptor("s", "1"), descriptor("e", "1"), descriptor("q", "1"), descriptor("r", "1")
	const ok, over = codec.OK, codec.OverLimit
	for _, row := range []struct {
		name string
		ask  *codec.Request
		want []codec.Code
	}{
		{"shadow alone", request(s), []codec.Code{ok, ok, ok}},
		{"shadow does not switch off what is enforced", request(s, e), []codec.Code{ok, ok, over, over}},
		{"in either order", request(e, s), []codec.Code{ok, ok, over, over}},
		{"quota: over when all are", request(q, r), []codec.Code{ok, ok, over}},
		{"quota beside enforced", request(q, e), []codec.Code{ok, over}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, text)
			var got []codec.Code
			for range row.want {
				got = append(got, b.ask(row.ask).Code)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	b := newBench(t, text)
	b.ask(request(s))
	if got := b.ask(request(s)).Statuses[0]; got.Code != ok || got.Remaining != 0 {
		t.Errorf("%+v, want a shadow rule that is over to say OK with nothing remaining", got)
	}
}

// TestIndependent: each rule decides and is charged by itself.
func TestIndependent(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
defaults: {charge: independent}
descriptors:
  - {key: wide, rate_limit: {requests_per_unit: 10, unit: minute}}
  - {key: narrow, rate_limit: {requests_per_unit: 1, unit: minute}}
`)
	for _, want := range []uint32{9, 8, 7} {
		if got := b.ask(request(descriptor("wide", "1"), descriptor("narrow", "1"))).Statuses[0].Remaining; got != want {
			t.Errorf("%d remaining, want %d", got, want)
		}
	}
}

// TestCompat: refused hits count, and nothing is added to an answer, unless the
// rule names an algorithm.
func TestCompat(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, rules.Options{Compat: true}, `
domain: t
descriptors:
  - {key: theirs, rate_limit: {requests_per_unit: 2, unit: minute}}
  - {key: ours, rate_limit: {algorithm: fixed_window, requests_per_unit: 2, unit: minute}}
`)
	theirs, ours := descriptor("theirs", "1"), descriptor("ours", "1")
	check(t, &codec.Response{Code: codec.OverLimit, Statuses: []codec.Status{counted(codec.OverLimit, 2, 0)}}, b.ask(request(hits(3, theirs))))
	check(t, &codec.Response{Code: codec.OverLimit, Statuses: []codec.Status{counted(codec.OverLimit, 2, 0)}}, b.ask(request(theirs)))
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.ours"), Statuses: []codec.Status{counted(codec.OverLimit, 2, 2)}}, b.ask(request(hits(3, ours))))
	check(t, &codec.Response{
		Code: codec.OverLimit, DynamicMetadata: named("t.theirs"),
		Statuses: []codec.Status{counted(codec.OverLimit, 2, 0), counted(codec.OK, 2, 1)},
	}, b.ask(request(theirs, ours)))
}

// TestDeciding: in a refused request a rule that refuses alone goes before a
// quota rule, whatever their waits.
func TestDeciding(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: q, quota_mode: true, rate_limit: {requests_per_unit: 0, unit: year}}
  - {key: e, rate_limit: {requests_per_unit: 0, unit: minute}}
`)
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.e")}, withoutStatuses(b.ask(request(descriptor("q", "1"), descriptor("e", "1")))))
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.q")}, withoutStatuses(b.ask(request(descriptor("q", "1")))))
}

// TestAShadowRuleSpeaksLast: callers do not hear of a rule that is being tried
// out, unless there is no other.
func TestAShadowRuleSpeaksLast(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: real, rate_limit: {requests_per_unit: 100, unit: hour}}
  - {key: trial, shadow_mode: true, rate_limit: {requests_per_unit: 1, unit: hour}}
`)
	inForce, trial := descriptor("real", "1"), descriptor("trial", "1")
	for _, ask := range []*codec.Request{request(inForce, trial), request(trial, inForce)} {
		check(t, &codec.Response{Code: codec.OK, DynamicMetadata: named("t.real")}, withoutStatuses(b.ask(ask)))
	}
	check(t, &codec.Response{Code: codec.OK, DynamicMetadata: named("t.trial")}, withoutStatuses(b.ask(request(trial))))
}

func withoutStatuses(a *codec.Response) *codec.Response {
	a.Statuses = nil
	return a
}

// TestNoDelayOfARefusal, even if a store names one.
func TestNoDelayOfARefusal(t *testing.T) {
	t.Parallel()
	b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {algorithm: gcra, requests_per_unit: 2, unit: minute}}]")
	b.store = scripted{verdict: backend.OverLimit, answer: backend.Answer{Decision: algorithms.Decision{Allowed: true, Delay: time.Second}}}
	check(t, &codec.Response{Code: codec.OverLimit, DynamicMetadata: named("t.k")}, withoutStatuses(b.ask(request(descriptor("k", "1")))))
}

// TestReset: whole seconds, rounded up; when refused the wait, else the time to
// full.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, limit string
		at          time.Duration // after noon
		ask         []codec.Descriptor
		want        time.Duration
	}{
		{"gcra admitted", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0, []codec.Descriptor{descriptor("k", "1")}, 6 * time.Second},
		{"part of a second", "algorithm: gcra, requests_per_unit: 10, unit: second", 0, []codec.Descriptor{descriptor("k", "1")}, time.Second},
		{"idle", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0, []codec.Descriptor{hits(0, descriptor("k", "1"))}, 0},
		{
			"gcra refused: until the same request passes", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0,
			[]codec.Descriptor{hits(10, descriptor("k", "1")), hits(2, descriptor("k", "1"))},
			12 * time.Second,
		},
		{
			"never: the window", "algorithm: gcra, requests_per_unit: 10, unit: minute", 0,
			[]codec.Descriptor{hits(11, descriptor("k", "1"))},
			time.Minute,
		},
		{"a window on the grid: its end", "requests_per_unit: 10, unit: minute", 12500 * time.Millisecond, []codec.Descriptor{descriptor("k", "1")}, 48 * time.Second},
		{"even for a look", "requests_per_unit: 10, unit: minute", 12500 * time.Millisecond, []codec.Descriptor{hits(0, descriptor("k", "1"))}, 48 * time.Second},
		{
			"a window from its first hit", "align: first, requests_per_unit: 10, unit: minute", 12500 * time.Millisecond,
			[]codec.Descriptor{descriptor("k", "1")},
			time.Minute,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {"+row.limit+"}}]")
			b.now += int64(row.at)
			var got *codec.Response
			for _, d := range row.ask {
				got = b.ask(request(d))
			}
			if s := got.Statuses[0]; !s.HasReset || s.Reset != row.want {
				t.Errorf("reset %s, want %s", s.Reset, row.want)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: slow, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 3, unit: second}}
  - {key: fast, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 10, unit: second}}
  - {key: seen, shadow_mode: true, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 1, period: 200s, burst: 5}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: second}}
`)
	slow, fast, seen := descriptor("slow", "1"), descriptor("fast", "1"), descriptor("seen", "1")
	delay := func(want string, d ...codec.Descriptor) {
		t.Helper()
		got := ""
		for _, f := range b.ask(request(d...)).DynamicMetadata {
			if f.Key == "rls.delay_ms" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("delay %q, want %q", got, want)
		}
	}
	delay("", slow, fast, seen)
	delay("334", slow, fast, seen) // a third of a second, rounded up; the shadow rule's 200 s do not count
	delay("200", fast)
	delay("", slow, descriptor("deny", "1")) // refused
	delay("667", slow)
	b.options.Shadow = true
	delay("", slow) // nothing is enforced
}

func TestOverride(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
descriptors:
  - {key: k, shadow_mode: true, rate_limit: {requests_per_unit: 1, unit: minute, name: n}}
`)
	k := descriptor("k", "1")
	b.ask(request(k))
	got := b.ask(request(override(5, descriptors.Minute, k)))
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{counted(codec.OK, 5, 3)}, DynamicMetadata: named("t.override")}, got)
	for _, want := range []codec.Code{codec.OK, codec.OK, codec.OK, codec.OverLimit} {
		if got := b.ask(request(override(5, descriptors.Minute, k))).Code; got != want {
			t.Errorf("code %d, want %d", got, want)
		}
	}
	if got := b.ask(request(override(0, descriptors.Minute, k))); got.Code != codec.OverLimit {
		t.Errorf("code %d, want a limit of 0 to deny", got.Code)
	}
	d := override(5, descriptors.Minute, descriptor("other", "1"))
	d.Limit.HasUnitMultiplier, d.Limit.UnitMultiplier = true, 10
	want := counted(codec.OK, 5, 4)
	want.Limit.UnitMultiplier, want.Reset = 10, 10*time.Minute
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{want}, DynamicMetadata: named("t.override")}, b.ask(request(d)))
}

func TestBadRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
domain: t
defaults: {allow_refunds: false}
descriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: minute}}]
`)
	k := descriptor("k", "1")
	for _, row := range []struct {
		name string
		q    *codec.Request
		want string
	}{
		{"malformed", &codec.Request{Err: errors.New("byte 3: truncated")}, "the message is malformed: byte 3: truncated"},
		{"no domain", &codec.Request{Descriptors: []codec.Descriptor{k}}, "domain is empty, must be the domain of a rule file"},
		{"no descriptors", request(), "descriptors is empty, must hold at least one descriptor"},
		{"refund", request(k, refund(1, k)), `descriptors[1]: is_negative_hits is set, domain "t" does not allow refunds`},
		{"unit of an override", request(override(1, 0, k)), "descriptors[0]: limit.unit is 0, must be 1 (SECOND) to 7 (WEEK)"},
		{"unit far out", request(codec.Descriptor{HasLimit: true, Limit: codec.Override{Unit: -1}}), "descriptors[0]: limit.unit is -1, must be 1 (SECOND) to 7 (WEEK)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var e service.Evaluation
			err := e.Run(t.Context(), service.Options{}, b.set, b.store, row.q)
			var bad service.RequestError
			if !errors.As(err, &bad) || bad.Error() != row.want {
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
}

// TestReuse: nothing of a large request shows in the next one.
func TestReuse(t *testing.T) {
	t.Parallel()
	b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 9, unit: minute}}]")
	var many []codec.Descriptor
	for range 1000 {
		many = append(many, hits(0, descriptor("k", "1")))
	}
	if got := b.ask(request(many...)); len(got.Statuses) != 1000 || got.Code != codec.OK {
		t.Fatalf("%d statuses, code %d", len(got.Statuses), got.Code)
	}
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{{Code: codec.OK}}}, b.ask(request(descriptor("z", "1"))))
	check(t, &codec.Response{Code: codec.OK, Statuses: []codec.Status{counted(codec.OK, 9, 8)}, DynamicMetadata: named("t.k")}, b.ask(request(descriptor("k", "1"))))
}

// scripted is a store whose answers a test writes.
type scripted struct {
	backend.Backend
	verdict backend.Verdict
	answer  backend.Answer
	fault   any
}

func (s scripted) Decide(_ context.Context, _ *backend.Request, answers []backend.Answer) backend.Verdict {
	if s.fault != nil {
		panic(s.fault)
	}
	for i := range answers {
		answers[i] = s.answer
	}
	return s.verdict
}
