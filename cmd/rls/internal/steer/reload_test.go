package steer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
