package service_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
)

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
