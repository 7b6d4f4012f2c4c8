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
	for _, other := range []string{"a", "b", "c"} {
		w.report(other, 0, answers(100, 100, 0, 20*time.Millisecond), true)
	}
	w.second()
	w.load(strings.ReplaceAll(oneRule, "target: checkout", "target: cart"))
	w.report("d", 0, answers(100, 100, 0, 20*time.Millisecond), true)
	w.book.next["cart"] = w.book.next["checkout"]
	w.second()
	if got := w.Standings()[0].Reporters; got != 1 {
		t.Errorf("%d reporters of another target, want 1", got)
	}
	w.load(strings.ReplaceAll(oneRule, "target: checkout", "target: third"))
	w.second()
	if got := w.Standings()[0]; got.Limit != 400 || got.Baseline != 0 || got.Target != "third" {
		t.Errorf("%+v, want a new start", got)
	}
}

// TestReloadOfUnit: the same limit by another unit is no move.
func TestReloadOfUnit(t *testing.T) {
	t.Parallel()
	perMinute := strings.NewReplacer("unit: second", "unit: minute", "400", "24000", "min_limit: 50", "min_limit: 3000", "2000", "120000")
	for _, seconds := range []int{0, 1, 3, 12} {
		w := newWorld(t, oneRule, nil, "")
		for range seconds {
			w.busy()
		}
		before, lines := w.Standings()[0], len(w.moves())
		w.now = w.now.Add(time.Minute)
		for i, text := range []string{perMinute.Replace(oneRule), oneRule, perMinute.Replace(oneRule)} {
			w.load(text)
			got := w.Standings()[0]
			if rate := before.Limit; i%2 == 0 && (got.Limit < 60*rate || got.Limit >= 60*(rate+1)) || i%2 == 1 && got.Limit != rate {
				t.Errorf("after %d s and reload %d: limit %d, was %d a second", seconds, i, got.Limit, rate)
			}
			if !got.Moved.Equal(before.Moved) {
				t.Errorf("after %d s and reload %d: changed at %v, want %v", seconds, i, got.Moved, before.Moved)
			}
		}
		if got := w.moves(); len(got) != lines {
			t.Errorf("after %d s: logged %+v for another unit", seconds, got[lines:])
		}
		w.load(strings.ReplaceAll(perMinute.Replace(oneRule), "max_limit: 120000", "max_limit: 24000"))
		w.load(strings.NewReplacer("max_limit: 2000", "max_limit: 200", "400", "100").Replace(oneRule))
		if got := w.Standings()[0]; got.Limit != 200 || !got.Moved.Equal(w.now) {
			t.Errorf("after %d s: %+v, want the changed maximum, as of now", seconds, got)
		}
	}
}
