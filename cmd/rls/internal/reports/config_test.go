package reports

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestCF05WrongTypesAndWords are refused with the line and what was meant, and a
// value that YAML takes for no text is the text as written.
func TestCF05WrongTypesAndWords(t *testing.T) {
	t.Parallel()
	const head = "domain: t\ndescriptors:\n  - key: k\n"
	for _, row := range []struct{ name, rule, place, says string }{
		{"word", "    rate_limit: {unit: minute, requests_per_minute: 5}\n", "4:32: ", "requests_per_unit"},
		{"hyphens", "    rate_limit: {unit: minute, requests-per-unit: 5}\n", "4:32: ", "requests_per_unit"},
		{"unit", "    rate_limit: {requests_per_unit: 5, unit: minutes}\n", "4:46: ", "did you mean minute?"},
		{"no unit", "    rate_limit: {requests_per_unit: 5, unit: fortnight}\n", "4:46: ", "must be second, minute, hour, day, "},
		{"number", "    rate_limit: {requests_per_unit: many, unit: minute}\n", "4:37: ", "requests_per_unit is"},
		{"value", "    value: 1.10\n    rate_limit: {requests_per_unit: 1, unit: minute}\n", "4:12: ", "put it in quotes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := findings(t, head+row.rule)
			if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, row.place) && strings.Contains(f, row.says) }) {
				t.Errorf("rls check says %q, want %s…%s", got, row.place, row.says)
			}
		})
	}
	for _, value := range []string{"true", "010", "yes"} {
		w := newWorld(t, head+"    value: "+value+"\n    rate_limit: {requests_per_unit: 1, unit: minute}\n")
		w.is("Q(k="+value+") x2", "1 OK, 1 OVER")
		w.says("Q(k=other)", "OK, no limit")
	}
}

// TestCF07ReloadsUnderLoad neither fail a request nor let more through.
func TestCF07ReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(5, "minute"))
			var done atomic.Bool
			var admitted atomic.Int64
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					for !done.Load() {
						admitted.Add(int64(w.ok("Q(k=1)")))
					}
				})
			}
			for i := range 50 {
				text := k.rule(5+i%2, "minute")
				if i%3 == 0 {
					text += "  - key: sibling\n    " + k.limit(1, "minute") + "\n"
				}
				w.reload(text)
			}
			w.reload(k.rule(6, "minute"))
			admitted.Add(int64(w.ok("Q(k=1) x10")))
			done.Store(true)
			callers.Wait()
			least := int64(5)
			if k.window {
				least = 6
			}
			if n := admitted.Load(); n < least || n > 6 {
				t.Errorf("%d OK in a minute, want %d to 6", n, least)
			}
		})
	}
}

// TestCF08NewNumbersReachExistingStates: what was used stays used, and the limit
// in force decides about the rest.
func TestCF08NewNumbersReachExistingStates(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "minute"))
			w.is("Q(k=1) x11", "10 OK, 1 OVER")
			w.reload(k.rule(20, "minute"))
			n := w.ok("Q(k=1) x40")
			if want := map[bool]int{true: 10}[k.window]; n != want {
				t.Errorf("%d more OK at once after raising 10 to 20, want %d", n, want)
			}
			w.pass(time.Minute/10 + time.Second)
			if n += w.ok("Q(k=1) x40"); n < 1 || n > 10 {
				t.Errorf("%d more OK soon after raising 10 to 20, want 1 to 10", n)
			}
		})
	}
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(10, "minute"))
			w.is("Q(k=1) x10", "10 OK")
			w.reload(k.rule(5, "minute"))
			w.says("Q(k=1)", "OVER, rem 0")
			w.says("Q(k=1 hits=0)", "OVER, rem 0")
			recovery := time.Minute
			if strings.HasPrefix(k.words, "algorithm: sliding_window") {
				recovery += time.Minute // the window before counts in part
			}
			w.pass(recovery)
			w.is("Q(k=1) x6", "5 OK, 1 OVER")
		})
	}
}

// TestCF09AnUnknownDomainIsSeen: it passes, as Envoy expects, and is counted, and
// the log names what was sent and what was meant.
func TestCF09AnUnknownDomainIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: minute}}]\n")
	lines := func() int { return w.logs.FilterMessageSnippet("no rule file has this domain").Len() }
	w.says("tt:Q(k=1,user=secret | k=2)", "OK, no limit / OK, no limit")
	if diff := cmp.Diff(map[string]any{"domain": "tt", "nearest": "t", "keys": []any{"k", "user"}}, w.logs.TakeAll()[1].ContextMap()); diff != "" {
		t.Errorf("log line: %s", diff)
	}
	w.is("tt:Q(k=1) x100", "100 OK")
	w.pass(time.Minute - 1)
	w.is("tt:Q(k=1)", "1 OK")
	w.is("Q(other=1)", "1 OK")
	if n := lines(); n != 0 {
		t.Errorf("%d lines more in the same minute, want none", n)
	}
	w.pass(1)
	w.is("tt:Q(k=1) x5", "5 OK")
	if n := lines(); n != 1 {
		t.Errorf("%d lines in the next minute, want 1", n)
	}
	for reason, want := range map[string]float64{"unknown_domain": 2 + 100 + 1 + 5, "no_rule": 1} {
		if got := testutil.ToFloat64(w.metrics.Unmatched(reason)); got != want {
			t.Errorf("unmatched_total of %s is %v, want %v", reason, got, want)
		}
	}
}

// TestCF09ALineIsShort, whatever is sent and whatever domains there are.
func TestCF09ALineIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d", 1000)
	w := newWorld(t, "domain: "+long+"\ndescriptors: []\n")
	w.logs.TakeAll()
	w.is(long+"x:Q("+strings.Repeat("k", 1000)+"=1"+strings.Repeat(",k=1", 1000)+")", "1 OK")
	w.is("u:Q(k=1)", "1 OK") // a short name beside the long one
	want := map[string]any{
		"domain": long[:100], "nearest": "",
		"keys": append([]any{strings.Repeat("k", 100)}, "k", "k", "k", "k", "k", "k", "k"),
	}
	if diff := cmp.Diff(want, w.logs.TakeAll()[0].ContextMap()); diff != "" {
		t.Errorf("log line: %s", diff)
	}
}

// TestCF09ManyUnknownDomains fill neither the log nor the memory.
func TestCF09ManyUnknownDomains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: t\n")
	for minute := 1; minute <= 2; minute++ {
		for i := range 1000 {
			w.is(fmt.Sprintf("d%d:Q(k=1)", i), "1 OK")
		}
		if n := w.logs.FilterMessageSnippet("no rule file has this domain").Len(); n != minute*100 {
			t.Errorf("%d lines after minute %d, want 100 each", n, minute)
		}
		w.pass(time.Minute)
	}
}
