package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/pkg/descriptors"
)

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
