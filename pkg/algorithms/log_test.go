package algorithms

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogGrowsToTheLimit(t *testing.T) {
	t.Parallel()
	k := newKey(t, Params{Kind: SlidingLog, Limit: 10, Window: 100})
	want := []int{4, 4, 4, 4, 8, 8, 8, 8, 10, 10, 10}
	var got []int
	for now := range int64(len(want)) {
		k.decide(now, 1)
		got = append(got, len(k.log.ring))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of the ring (-want +got):\n%s", diff)
	}
	for now := int64(100); now < 1000; now += 7 {
		k.decide(now, 1)
	}
	if got := len(k.log.ring); got != 10 {
		t.Errorf("the ring has %d entries, want 10", got)
	}
}

func TestLogGrowsAroundItsEnd(t *testing.T) {
	t.Parallel()
	k := newKey(t, Params{Kind: SlidingLog, Limit: 6, Window: 100})
	for _, now := range []int64{1, 2, 3, 4, 101, 102, 103} {
		k.decide(now, 1)
	}
	k.decide(103, 2) // one more than the ring holds, with its oldest in the middle
	if diff := cmp.Diff([]int64{4, 101, 102, 103, 103, 103}, k.log.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestDecidingLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, []Kind{SlidingLog, SlidingCounter}, func(t *testing.T, w *walk, k *key, now int64) {
		t.Helper()
		before := k.clone()
		for _, hits := range []int64{1, 0, w.count(1000), math.MinInt64} {
			switch k.rule.Layout() {
			case InLog:
				k.rule.DecideLog(k.log, now, hits)
			case InCounts:
				k.rule.DecideCounts(k.counts, now, hits)
			default:
			}
		}
		if !k.equal(before) {
			t.Error("deciding changed the state")
		}
		after := k.clone()
		after.decide(now, 1)
		if !k.equal(before) {
			t.Error("a change of the clone changed the state")
		}
	})
}

// Stores write nothing for an edit that is zero.
func TestEditsOfNothingAreZero(t *testing.T) {
	t.Parallel()
	log := newKey(t, Params{Kind: SlidingLog, Limit: 2, Window: 100})
	counts := newKey(t, Params{Kind: SlidingCounter, Limit: 2, Window: 100, Buckets: 2})
	log.decide(150, 2)
	counts.decide(150, 2)
	tests := []struct {
		name                string
		now, hits           int64
		logZero, countsZero bool
	}{
		{"a look", 160, 0, true, true},
		{"a refusal", 160, 1, true, true},
		{"a refusal for ever", 160, 3, true, true},
		{"a charge", 400, 1, false, false},
		{"a refund", 160, -1, false, false},
		{"a look back by one sub-window", 120, 0, false, true},
		{"a look that heals", 20, 0, false, false},
		{"a refusal that heals", 20, 1, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if edit, _ := log.rule.DecideLog(log.log, test.now, test.hits); (edit == LogEdit{}) != test.logZero {
				t.Errorf("the log's edit is %+v", edit)
			}
			if edit, _ := counts.rule.DecideCounts(counts.counts, test.now, test.hits); (edit == CountsEdit{}) != test.countsZero {
				t.Errorf("the counts' edit is %+v", edit)
			}
		})
	}
}
