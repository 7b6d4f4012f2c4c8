package service_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/pkg/descriptors"
)

const withMetadata = `
domain: t
descriptors:
  - key: q
    value: one
    quota_mode: true
    rate_limit: {algorithm: gcra, unit: hour, requests_per_unit: 1, name: one}
    metadata: {pick: {to: one, only: yes-1}, list: [1, two]}
  - key: q
    value: two
    quota_mode: true
    rate_limit: {algorithm: gcra, unit: hour, requests_per_unit: 9}
    metadata: {pick: {to: two, also: 2.5}, extra: "2", list: [3]}
`

// TestDescribe: the request, and the metadata of the rules that let it pass; the
// first to write a name wins.
func TestDescribe(t *testing.T) {
	t.Parallel()
	b := newBench(t, withMetadata)
	c := service.Config{Describe: true}
	one, two := descriptor("q", "one"), descriptor("q", "two")
	first := map[string]any{
		"domain": "t", "hitsAddend": 1.0, "rls.rule": "one",
		"descriptors": []any{map[string]any{"entries": []any{"q=one"}}, map[string]any{"entries": []any{"q=two"}}},
		"metadata":    map[string]any{"pick": map[string]any{"to": "one", "only": "yes-1", "also": 2.5}, "extra": "2", "list": []any{1.0, "two"}},
	}
	q := request(one, two)
	q.HitsAddend = 1
	if diff := cmp.Diff(first, b.serve(c, q).GetDynamicMetadata().AsMap()); diff != "" {
		t.Error(diff)
	}
	second := map[string]any{
		"domain": "t", "rls.rule": "one",
		"descriptors": []any{map[string]any{"entries": []any{"q=one"}}, map[string]any{"entries": []any{"q=two"}, "hitsAddend": 2.0}},
		"metadata":    map[string]any{"pick": map[string]any{"to": "two", "also": 2.5}, "extra": "2", "list": []any{3.0}},
	}
	if diff := cmp.Diff(second, b.serve(c, request(one, hits(2, two))).GetDynamicMetadata().AsMap()); diff != "" {
		t.Error(diff)
	}
	alone := b.serve(c, request(hits(0, one))).GetDynamicMetadata().AsMap()["metadata"]
	if alone != nil {
		t.Errorf("%v, want no metadata of a rule that is over", alone)
	}
	b.now += int64(2 * time.Hour)
	want := map[string]any{"pick": map[string]any{"to": "one", "only": "yes-1"}, "list": []any{1.0, "two"}}
	if diff := cmp.Diff(want, b.serve(c, request(one)).GetDynamicMetadata().AsMap()["metadata"]); diff != "" {
		t.Errorf("what was merged has changed the rule: %s", diff)
	}
	third := map[string]any{
		"domain": "t", "rls.rule": "t.override",
		"descriptors": []any{map[string]any{"entries": []any{"\uFFFD=", "\n=\x00"}, "limit": "requests_per_unit:5 unit:DAY"}},
	}
	strange := override(5, descriptors.Day, codec.Descriptor{Entries: []codec.Entry{{Key: "\xff\xfe"}, {Key: "\n", Value: "\x00"}}})
	if diff := cmp.Diff(third, b.serve(c, request(strange)).GetDynamicMetadata().AsMap()); diff != "" {
		t.Error(diff)
	}
}

// TestReplaces: a rule takes the place of those it names, wherever they stand.
func TestReplaces(t *testing.T) {
	t.Parallel()
	const text = `
domain: t
descriptors:
  - {key: base, rate_limit: {requests_per_unit: 1, unit: minute, name: base}}
  - {key: vip, rate_limit: {requests_per_unit: 9, unit: minute, replaces: [{name: base}]}}
  - {key: free, rate_limit: {unlimited: true, name: free, replaces: [{name: base}]}}
  - {key: x, rate_limit: {requests_per_unit: 1, unit: minute, name: x, replaces: [{name: y}, {name: free}]}}
  - {key: y, rate_limit: {requests_per_unit: 1, unit: minute, name: y, replaces: [{name: x}]}}
`
	base, vip, free, x, y := descriptor("base", "1"), descriptor("vip", "1"), descriptor("free", "1"), descriptor("x", "1"), descriptor("y", "1")
	none, unlimited := codec.Status{Code: codec.OK}, codec.Status{Code: codec.OK, Remaining: 1<<32 - 1}
	for _, row := range []struct {
		name string
		ask  *codec.Request
		want []codec.Status
	}{
		{"behind", request(vip, base), []codec.Status{counted(codec.OK, 9, 8), none}},
		{"before", request(base, vip), []codec.Status{none, counted(codec.OK, 9, 8)}},
		{"by an unlimited rule", request(base, free), []codec.Status{none, unlimited}},
		{"each other", request(x, y), []codec.Status{none, none}},
		{"an unlimited rule stays", request(free, base), []codec.Status{unlimited, none}},
		{"even if it is named", request(x, free), []codec.Status{counted(codec.OK, 1, 0), unlimited}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, text)
			got := b.ask(row.ask).Statuses
			for i := range got {
				got[i].Limit.Name = ""
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if kept := b.ask(request(base)).Statuses[0]; kept.Code != codec.OK {
				t.Error("what was replaced was charged")
			}
		})
	}
}
