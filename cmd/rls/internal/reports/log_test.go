package reports

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAL07HitsOfOneInstant are each counted.
func TestAL07HitsOfOneInstant(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "minute"))
			w.is("Q(k=1) x25", "10 OK, 15 OVER")
		})
	}
}

// TestAL08ALogCountsWhatIsInTheWindow, to the nanosecond.
func TestAL08ALogCountsWhatIsInTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kinds()[4].rule(10, "minute"))
	for range 10 {
		w.is("Q(k=1)", "1 OK")
		w.pass(time.Millisecond)
	}
	w.pass(time.Minute - 10*time.Millisecond - 1)
	w.is("Q(k=1) x2", "2 OVER")
	w.pass(1) // the first hit is a minute old
	w.is("Q(k=1) x2", "1 OK, 1 OVER")
	w.pass(2 * time.Millisecond)
	w.is("Q(k=1) x3", "2 OK, 1 OVER")
}

// TestAL08CallersAtTheSameTime get the limit and no more.
func TestAL08CallersAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "minute"))
			var callers sync.WaitGroup
			var admitted atomic.Int64
			for range 100 {
				callers.Go(func() { admitted.Add(int64(w.ok("Q(k=1)"))) })
			}
			callers.Wait()
			if n := admitted.Load(); n != 10 {
				t.Errorf("%d OK, want 10", n)
			}
		})
	}
}

// TestAL08RefusedHitsLeaveNothing behind: neither memory nor a longer wait.
func TestAL08RefusedHitsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "minute"))
			w.is("Q(k=1) x11", "10 OK, 1 OVER")
			before := w.answers("Q(k=1)")[0].Statuses[0]
			stats := w.store.Stats()
			if n := w.ok("Q(k=1) x10000"); n != 0 {
				t.Errorf("%d OK over the limit", n)
			}
			if after := w.answers("Q(k=1)")[0].Statuses[0]; after != before {
				t.Errorf("the status %+v became %+v", before, after)
			}
			if now := w.store.Stats(); now != stats {
				t.Errorf("the store's %+v became %+v", stats, now)
			}
			w.pass(2 * time.Minute)
			w.is("Q(k=1) x11", "10 OK, 1 OVER")
		})
	}
}
