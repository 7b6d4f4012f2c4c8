package service_test

import (
	"context"
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
