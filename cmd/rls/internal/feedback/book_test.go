package feedback

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// told is a report of target "a" that ended some time ago, from an address of the
// reporter's own.
func (w *world) told(reporter string, sequence uint64, ago, long time.Duration) *report {
	r := &report{target: "a", reporter: key{"of " + reporter, reporter}, sequence: sequence, end: w.now.Add(-ago), startedKnown: true}
	r.start = r.end.Add(-long)
	r.row = adaptive.Row{Started: 3, OK: 1, Errors: 1}
	r.row.Latency.Add(100, 2)
	return r
}

func TestTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.want("a")
	w.want("unknown")
	w.add(w.told("y", 0, 0, time.Second))
	w.add(w.told("x", 0, 500*time.Millisecond, 2*time.Second))
	ms := time.Millisecond
	w.want(
		"a",
		seen{"x", -2500 * ms, -500 * ms, 3, 1, 1, true, map[int]uint64{100: 2}},
		seen{"y", -1000 * ms, 0, 3, 1, 1, true, map[int]uint64{100: 2}},
	)
	w.want("a")
	w.want("b")
}

// TestPool: what one reporter says between two Takes is one observation.
func TestPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	second := time.Second
	w.add(w.told("x", 7, 0, second))
	w.wait(second)
	later := w.told("x", 8, 0, second)
	later.row.Latency.Add(5, 1)
	w.add(later)
	w.want("a", seen{"x", -second, second, 6, 2, 2, true, map[int]uint64{5: 1, 100: 4}})

	w.wait(second)
	unknown := w.told("y", 1, 0, second)
	unknown.startedKnown, unknown.row.Started = false, 0
	w.add(unknown)
	w.wait(second)
	w.add(w.told("y", 2, 0, second))
	w.want("a", seen{"y", second, 3 * second, 0, 2, 2, false, map[int]uint64{100: 4}})
}

// TestAhead: a clock that goes a little ahead makes no observation of the future.
func TestAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.add(w.told("x", 0, -time.Second, time.Second))
	w.want("a", seen{"x", -time.Second, 0, 3, 1, 1, true, map[int]uint64{100: 2}})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const second, ms = time.Second, time.Millisecond
	type step struct {
		wait      time.Duration // before
		sequence  uint64
		ago, long time.Duration // of the window
		want      Outcome
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"numbered", []step{{0, 5, 0, second, Accepted}, {second, 6, 0, second, Accepted}, {second, 9, 0, second, Accepted}}},
		{"several a second", []step{{0, 5, 0, second, Accepted}, {ms, 6, 0, second, Accepted}}},
		{"stuck", []step{{0, 5, 0, second, Accepted}, {second, 5, 0, second, Repeat}, {30 * second, 5, 0, second, Repeat}, {40 * second, 5, 0, second, Repeat}}},
		{"older number", []step{{0, 5, 0, second, Accepted}, {ms, 4, 0, second, Repeat}, {ms, 6, 0, second, Accepted}}},
		{"began anew", []step{{0, 5, 0, second, Accepted}, {second, 1, 0, second, Accepted}, {second, 2, 0, second, Accepted}, {second, 2, 0, second, Repeat}}},
		{"began anew within the window", []step{{0, 5, 0, second, Accepted}, {second - ms, 1, 0, second, Repeat}, {second, 2, 0, second, Accepted}}},
		{"at the limit of age", []step{{0, 0, 10 * second, second, Accepted}}},
		{"too old", []step{{0, 0, 10*second + 1, second, Late}}},
		{"repeat of what is too old by now", []step{{0, 5, 0, second, Accepted}, {0, 5, 11 * second, second, Late}}},
		{"unnumbered", []step{{0, 0, 0, second, Accepted}, {second, 0, 0, second, Accepted}}},
		{"unnumbered, at once", []step{{0, 0, 0, second, Accepted}, {0, 0, 0, second, Repeat}}},
		{"unnumbered, half over", []step{{0, 0, 0, second, Accepted}, {500 * ms, 0, 0, second, Accepted}}},
		{"unnumbered, over by more", []step{{0, 0, 0, second, Accepted}, {499 * ms, 0, 0, second, Repeat}, {ms, 0, 0, second, Accepted}}},
		{"unnumbered, sliding window", []step{{0, 0, 0, 10 * second, Accepted}, {second, 0, 0, 10 * second, Repeat}, {4 * second, 0, 0, 10 * second, Accepted}}},
		{"unnumbered, older window", []step{{0, 0, 0, second, Accepted}, {0, 0, 5 * second, second, Repeat}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			for i, s := range row.steps {
				w.wait(s.wait)
				if got := w.add(w.told("x", s.sequence, s.ago, s.long)); got != s.want {
					t.Errorf("step %d: %v, want %v", i, got, s.want)
				}
			}
		})
	}
}

// TestForgotten: only a reporter that sends nothing at all for more than a minute
// is new again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.add(w.told("x", 5, 0, time.Second))
	w.add(w.told("y", 5, 0, time.Second))
	w.wait(time.Minute)
	w.add(w.told("y", 5, 0, time.Second))
	w.Take("a")
	if n := w.Reporters("a"); n != 2 {
		t.Errorf("%d reporters after a minute, want 2", n)
	}
	w.wait(time.Second)
	if n := w.Reporters("a"); n != 1 {
		t.Errorf("%d reporters after more, want 1", n)
	}
	if got := w.add(w.told("x", 5, 0, time.Second)); got != Accepted {
		t.Errorf("the forgotten one: %v, want it accepted", got)
	}
	if n := w.Reporters("b"); n != 0 {
		t.Errorf("%d reporters of no target", n)
	}
}

// TestFull: a target has a bounded number of reporters, and room again when one
// is silent.
func TestFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	for i := range maxReporters {
		if got := w.add(w.told(strconv.Itoa(i), 1, 0, time.Second)); got != Accepted {
			t.Fatalf("reporter %d: %v", i, got)
		}
	}
	other := w.told("new", 1, 0, time.Second)
	if got := w.add(other); got != Full {
		t.Errorf("one more: %v, want %v", got, Full)
	}
	other.target = "b"
	if got := w.add(other); got != Accepted {
		t.Errorf("of another target: %v, want it accepted", got)
	}
	if got := w.add(w.told("7", 2, 0, time.Second)); got != Accepted {
		t.Errorf("one of them: %v, want it accepted", got)
	}
	for _, step := range []struct {
		wait time.Duration
		want Outcome
	}{
		{time.Minute, Full},
		{time.Second - 1, Full}, // the others are silent by now, but were looked through a moment ago
		{1, Accepted},
	} {
		w.wait(step.wait)
		if got := w.add(w.told("new", 2, 0, time.Second)); got != step.want {
			t.Errorf("%v after the others: %v, want %v", w.now.Sub(epoch()), got, step.want)
		}
	}
	if n := w.Reporters("a"); n != 1 {
		t.Errorf("%d reporters, want 1", n)
	}
}

func TestSetTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "a")
	if diff := cmp.Diff([]string{"a", "b"}, w.Targets()); diff != "" {
		t.Error(diff)
	}
	w.add(w.told("x", 1, 0, time.Second))
	w.SetTargets([]string{"a"})
	w.want("a", seen{"x", -time.Second, 0, 3, 1, 1, true, map[int]uint64{100: 2}})
	w.add(w.told("x", 2, 0, time.Second))
	w.SetTargets(nil)
	w.SetTargets([]string{"a"})
	w.want("a")
	w.SetTargets([]string{"b"})
	if got := w.add(w.told("x", 3, 0, time.Second)); got != UnknownTarget {
		t.Errorf("a target that went: %v, want %v", got, UnknownTarget)
	}
}

// TestConcurrent: nothing is lost or counted twice while targets are taken and
// rules are loaded.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const reporters, reports = 8, 200
	b := NewBook(epoch)
	b.SetTargets([]string{"a"})
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	total := uint64(0)
	readers.Go(func() {
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
			}
			b.SetTargets([]string{"a", "b"})
			for _, o := range b.Take("a") {
				total += o.Row.OK
			}
			b.Reporters("a")
			b.Stats()
		}
	})
	for i := range reporters {
		writers.Go(func() {
			l := newLog(b, who{address: "envoy"})
			for n := range reports {
				r := &report{target: "a", reporter: key{name: strconv.Itoa(i)}, sequence: uint64(n) + 1, start: epoch().Add(-time.Second), end: epoch()}
				r.row.OK = 1
				b.add(r)
				l.Decode(nil)
				l.book()
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if want := uint64(reporters * reports); total != want {
		t.Errorf("%d, want %d", total, want)
	}
}
