package feedback

import (
	"testing"
	"time"
)

// TestCounts: a reporter that has said how many requests began knows it, also where
// none did and some of those before ended.
func TestCounts(t *testing.T) {
	t.Parallel()
	type step struct {
		sequence, started uint64
		want              bool
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"never said", []step{{1, 0, false}, {2, 0, false}}},
		{"said once", []step{{1, 0, false}, {2, 1, true}, {3, 0, true}, {4, 0, true}}},
		{"said without numbers", []step{{0, 0, false}, {0, 1, true}, {0, 0, true}}},
		{"began anew", []step{{5, 1, true}, {1, 0, false}, {2, 0, false}, {3, 1, true}, {4, 0, true}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			for i, s := range row.steps {
				w.wait(time.Second)
				r := w.told("x", s.sequence, 0, time.Second)
				r.startedKnown, r.row.Started = s.started > 0, s.started
				if got := w.add(r); got != Accepted {
					t.Fatalf("report %d: %v", i, got)
				}
				if got := w.Take("a")[0]; got.StartedKnown != s.want || got.Row.Started != s.started {
					t.Errorf("report %d: known %v, %d began; want %v, %d", i, got.StartedKnown, got.Row.Started, s.want, s.started)
				}
			}
		})
	}
}
