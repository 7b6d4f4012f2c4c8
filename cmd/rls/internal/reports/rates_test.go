package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAL01TheWindowsEdge: what each algorithm lets through around it.
func TestAL01TheWindowsEdge(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(60, "minute"))
			w.pass(59*time.Second + 900*time.Millisecond)
			n, most := w.ok("Q(k=1) x60"), 60
			if k.name == "fixed_window" {
				most = 120 // as documented
			}
			w.pass(200 * time.Millisecond)
			n += w.ok("Q(k=1) x60")
			if n != most {
				t.Errorf("%d OK in 200 ms, want %d", n, most)
			}
		})
	}
}

// TestAL02HighRates are kept, where a clock of whole milliseconds would lose them.
func TestAL02HighRates(t *testing.T) {
	t.Parallel()
	for _, k := range kinds()[5:9] {
		for _, row := range []struct {
			rate, burst, hits int
			step              time.Duration
		}{
			{1500, 20, 1, 500 * time.Microsecond},
			{5000, 50, 1, 100 * time.Microsecond},
			{1_000_000, 1000, 1000, 500 * time.Microsecond},
		} {
			t.Run(fmt.Sprintf("%s %d per second", k.name, row.rate), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, k.rule(row.rate, "second", fmt.Sprint("burst: ", row.burst)))
				ask := fmt.Sprintf("Q(k=1; hits=%d) x2", row.hits)
				admitted := -row.burst // that much is admitted at the first instant
				for range time.Second / row.step {
					admitted += w.ok(ask) * row.hits
					w.pass(row.step)
				}
				if off := admitted - row.rate; off < -row.rate/100 || off > row.rate/100 {
					t.Errorf("%d hits admitted in 1 s, want %d", admitted, row.rate)
				}
			})
		}
	}
}

// TestAL03Zero denies everything, with a whole window to wait; a burst of 0 is
// refused at load.
func TestAL03Zero(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if k.name == "adaptive" {
				if got := findings(t, k.rule(0, "minute")); len(got) != 1 || !strings.Contains(got[0], "requests_per_unit") {
					t.Errorf("rls check says %q, want that it lies outside of the rule's limits", got)
				}
				return
			}
			w := newWorld(t, k.rule(0, "minute"))
			w.is("Q(k=1) x3", "3 OVER")
			w.says("Q(k=1 hits=0)", "OVER, rem 0")
			if reset := w.answers("Q(k=1)")[0].Statuses[0].Reset; reset != time.Minute {
				t.Errorf("reset %v, want the whole window", reset)
			}
			if k.window {
				return
			}
			if got := findings(t, k.rule(5, "minute", "burst: 0")); len(got) != 1 || !strings.Contains(got[0], "burst is 0, must be") {
				t.Errorf("rls check says %q of burst: 0, want what it must be", got)
			}
		})
	}
}

// TestAL04LargeNumbers: what remains falls by exactly one a call.
func TestAL04LargeNumbers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, row := range []struct {
				limit int
				unit  string
			}{{1_000_000, "hour"}, {4_000_000_000, "day"}} {
				switch k.name {
				case "sliding_window log": // keeps every hit
					row.limit = 100_000
				case "adaptive":
					k.words = "algorithm: adaptive, adaptive: {min_limit: 1000000, max_limit: 4000000000}"
				}
				w := newWorld(t, k.rule(row.limit, row.unit))
				for i := range 10 {
					w.says("Q(k=1)", fmt.Sprint("OK, rem ", row.limit-1-i))
				}
			}
		})
	}
}

// TestAL05NoIntervalTooMany: a burst of five, then one each 100 ms and not at 99.
func TestAL05NoIntervalTooMany(t *testing.T) {
	t.Parallel()
	for _, k := range kinds()[5:9] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "second", "burst: 5"))
			w.is("Q(k=1) x6", "5 OK, 1 OVER")
			for range 20 {
				w.pass(99 * time.Millisecond)
				w.is("Q(k=1)", "1 OVER")
				w.pass(time.Millisecond)
				w.is("Q(k=1) x2", "1 OK, 1 OVER")
			}
		})
	}
}

// TestAL06ABurstAddsToTheRate: after a pause, 15 per 30 s admits up to 30 in some
// 30 s, both ends included, and with a burst of 1 no more than 16.
func TestAL06ABurstAddsToTheRate(t *testing.T) {
	t.Parallel()
	for _, k := range kinds()[5:9] {
		for _, row := range []struct{ burst, want int }{{15, 30}, {1, 16}} {
			t.Run(fmt.Sprint(k.name, " burst ", row.burst), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, k.rule(15, "second", "unit_multiplier: 30", fmt.Sprint("burst: ", row.burst)))
				n := w.ok("Q(k=1) x20")
				for range 300 {
					w.pass(100 * time.Millisecond)
					n += w.ok("Q(k=1) x2")
				}
				if n != row.want {
					t.Errorf("%d OK in 30 s, want %d", n, row.want)
				}
			})
		}
	}
}

// TestAL12TheWindowIsTheOneWritten: 500 in each 5 s, and 5 a second is not 300 a
// minute.
func TestAL12TheWindowIsTheOneWritten(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(500, "second", "unit_multiplier: 5"))
			w.is("Q(k=1) x501", "500 OK, 1 OVER")
			w.says("Q(k=2 hits=0)", "OK, rem 500")
			if l := w.answers("Q(k=2)")[0].Statuses[0].Limit; l.RequestsPerUnit != 500 || l.Unit != 1 || l.UnitMultiplier != 5 {
				t.Errorf("limit %+v, want 500 per 5 seconds", l)
			}
			w = newWorld(t, k.rule(5, "second"))
			for second := range 10 {
				n := 0
				for range 100 {
					n += w.ok("Q(k=1)")
					w.pass(10 * time.Millisecond)
				}
				if n >= 10 || k.name == "fixed_window" && n != 5 {
					t.Errorf("%d OK in second %d", n, second)
				}
			}
		})
	}
}
