package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// TestWC01ADeniedRequestSpendsNothing of what its other descriptors have left, in
// either order.
func TestWC01ADeniedRequestSpendsNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			text := "domain: t\ndescriptors:\n  - key: plan\n    value: basic\n    " + k.limit(10, "minute") +
				"\n    descriptors:\n      - key: user\n        " + k.limit(5, "minute") + "\n"
			w := newWorld(t, text)
			w.is("Q(plan=basic | plan=basic,user=u1) x8", "5 OK, 3 OVER")
			w.is("Q(plan=basic | plan=basic,user=u2) x5", "5 OK")
			w.is("Q(plan=basic)", "1 OVER")
			w = newWorld(t, text)
			w.is("Q(plan=basic,user=u1 | plan=basic) x8", "5 OK, 3 OVER")
			w.is("Q(plan=basic,user=u2 | plan=basic) x5", "5 OK")
			w.is("Q(plan=basic)", "1 OVER")
		})
	}
}

// TestWC02RefusedCallsAreNotCounted, so a raised limit helps at once. A bucket
// keeps its debt as time: see TestCF08.
func TestWC02RefusedCallsAreNotCounted(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if !k.window {
				once, often := newWorld(t, k.rule(10, "hour")), newWorld(t, k.rule(10, "hour"))
				once.is("Q(k=1) x10", "10 OK")
				often.is("Q(k=1) x50", "10 OK, 40 OVER")
				for _, w := range []*world{once, often} {
					w.pass(time.Hour / 10)
					w.is("Q(k=1) x2", "1 OK, 1 OVER")
				}
				return
			}
			w := newWorld(t, k.rule(10, "hour"))
			w.is("Q(k=1) x50", "10 OK, 40 OVER")
			w.reload(k.rule(20, "hour"))
			w.is("Q(k=1) x15", "10 OK, 5 OVER")
		})
	}
}

// TestWC06ALookSpendsNothing and says OVER when nothing is left; at request level
// 0 is what an absent field looks like, and means 1.
func TestWC06ALookSpendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kinds()[0].rule(2, "minute"))
	for range 10 {
		w.says("Q(k=1 hits=0)", "OK, rem 2")
	}
	w.is("Q(k=1; hits=0) x2", "2 OK")
	w.says("Q(k=1 hits=0)", "OVER, rem 0")
	w.reload(kinds()[0].rule(3, "minute"))
	w.is("Q(k=1) x2", "1 OK, 1 OVER")
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(2, "minute"))
			w.is("Q(k=1 hits=0) x10", "10 OK")
			w.is("Q(k=1; hits=0) x3", "2 OK, 1 OVER")
			w.is("Q(k=1 hits=0) x2", "2 OVER")
		})
	}
}

// TestWC07ACostAboveTheLimit is refused, spends nothing, and no wait is promised.
func TestWC07ACostAboveTheLimit(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(5, "minute"))
			w.says("Q(k=1; hits=10)", "OVER, rem 5")
			a := w.answers("Q(k=1; hits=10)")[0]
			if reset := a.Statuses[0].Reset; reset != time.Minute {
				t.Errorf("reset %v, want the whole window", reset)
			}
			if slices.ContainsFunc(a.ResponseHeaders, isRetryAfter) {
				t.Errorf("headers %v, want no Retry-After, since no wait helps", a.ResponseHeaders)
			}
			w.says("Q(k=1; hits=5)", "OK, rem 0")
			if a := w.answers("Q(k=1)")[0]; !slices.ContainsFunc(a.ResponseHeaders, isRetryAfter) {
				t.Errorf("headers %v, want a Retry-After, since a wait helps", a.ResponseHeaders)
			}
		})
	}
}

func isRetryAfter(h codec.Header) bool { return h.Key == "retry-after" }

// TestWC09ALeakDependsOnTimeAlone: ten in 30 s is one every 3 s, however many ask.
func TestWC09ALeakDependsOnTimeAlone(t *testing.T) {
	t.Parallel()
	want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60}
	for _, row := range []struct {
		name string
		busy bool // ten more a second, from the first refusal on
	}{{"a hit each second", false}, {"and one each 100 ms", true}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "domain: t\ndescriptors: [{key: k, rate_limit: {algorithm: leaky_bucket, requests_per_unit: 10, period: 30s}}]\n")
			var at []int
			for tick := range 601 {
				whole := tick%10 == 0
				asks := 0
				if whole {
					asks++
				}
				if row.busy && tick >= 140 {
					asks++
				}
				for range asks {
					a := w.answers("Q(k=1)")[0]
					if a.Statuses[0].Remaining > 10 {
						t.Errorf("rem %d of 10", a.Statuses[0].Remaining)
					}
					if a.Code == codec.OK {
						at = append(at, tick/10)
						if !whole {
							t.Errorf("OK at %d00 ms", tick)
						}
					}
				}
				w.pass(100 * time.Millisecond)
			}
			if diff := cmp.Diff(want, at); diff != "" {
				t.Errorf("seconds of the OK answers: %s", diff)
			}
		})
	}
}

// TestWC10DomainsShareNothing, and their names are compared letter by letter.
func TestWC10DomainsShareNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(2, "minute"))
			other := strings.Replace(w.file, "rules.yaml", "other.yaml", 1)
			put(t, other, strings.Replace(k.rule(2, "minute"), "domain: t", "domain: u", 1))
			w.reload(k.rule(2, "minute"))
			w.is("Q(k=1) x3", "2 OK, 1 OVER")
			w.is("u:Q(k=1) x3", "2 OK, 1 OVER")
			w.says("T:Q(k=1)", "OK, no limit")
		})
	}
}

// TestWC11OnlyTheExactDepthMatches, as Envoy's users know it, and rls check says so.
func TestWC11OnlyTheExactDepthMatches(t *testing.T) {
	t.Parallel()
	const text = `domain: t
descriptors:
  - key: client
    value: c1
    rate_limit: {requests_per_unit: 10, unit: minute}
    descriptors:
      - key: svc
        value: s1
        rate_limit: {requests_per_unit: 2, unit: minute}
`
	w := newWorld(t, text)
	w.says("Q(client=c1,svc=s9)", "OK, no limit")
	w.is("Q(client=c1,svc=s1) x3", "2 OK, 1 OVER")
	w.says("Q(client=c1)", "OK, rem 9")
	got := findings(t, text)
	if len(got) != 1 || !strings.Contains(got[0], "warning: t.client_c1: this limit is reached only by a descriptor of exactly these entries") {
		t.Errorf("rls check says %q, want one note on the parent", got)
	}
}
