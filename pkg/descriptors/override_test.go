package descriptors_test

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/descriptors"
)

const overridable = `
domain: shop
defaults: {algorithm: token_bucket, on_error: deny}
descriptors:
  - {key: log, shadow_mode: true, rate_limit: {algorithm: sliding_window, variant: log, requests_per_unit: 1, unit: day, name: n, on_error: allow}}
  - {key: buckets, rate_limit: {algorithm: sliding_window, buckets: 4, requests_per_unit: 1, unit: day}}
  - {key: first, rate_limit: {algorithm: fixed_window, align: first, requests_per_unit: 1, unit: day}}
  - {key: queue, rate_limit: {algorithm: leaky_bucket, mode: queue, requests_per_unit: 1, unit: day, max_delay: 1s}}
  - {key: adaptive, rate_limit: {algorithm: adaptive, requests_per_unit: 1, unit: day, adaptive: {min_limit: 1, max_limit: 9}}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: day}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: bursty, rate_limit: {algorithm: gcra, requests_per_unit: 9, unit: day, burst: 3, overdraft: 4}}
`

func TestOverride(t *testing.T) {
	t.Parallel()
	d := compile(t, overridable).Domain("shop")
	for _, row := range []struct {
		key     string
		kind    algorithms.Kind
		buckets int64
		onError descriptors.OnError
	}{
		{"log", algorithms.SlidingLog, 1, descriptors.OnErrorAllow},
		{"buckets", algorithms.SlidingCounter, 4, descriptors.OnErrorDeny},
		{"first", algorithms.FixedWindow, 1, descriptors.OnErrorDeny},
		{"queue", algorithms.LeakyQueue, 1, descriptors.OnErrorDeny},
		{"adaptive", algorithms.GCRA, 1, descriptors.OnErrorDeny},
		{"deny", algorithms.TokenBucket, 1, descriptors.OnErrorDeny},
		{"free", algorithms.TokenBucket, 1, descriptors.OnErrorDeny},
		{"bursty", algorithms.GCRA, 1, descriptors.OnErrorDeny},
		{"none", algorithms.TokenBucket, 1, descriptors.OnErrorDeny},
	} {
		t.Run(row.key, func(t *testing.T) {
			t.Parallel()
			r, err := d.Override(d.Match(entries(row.key, "1")), 7, descriptors.Minute, 2)
			if err != nil {
				t.Fatal(err)
			}
			l := r.Limit
			if l.Kind() != row.kind || l.Buckets() != row.buckets || r.OnError != row.onError {
				t.Errorf("kind %d, buckets %d, on_error %d, want %d, %d, %d", l.Kind(), l.Buckets(), r.OnError, row.kind, row.buckets, row.onError)
			}
			if l.Limit() != 7 || l.Capacity() != 7 || l.Window() != 2*time.Minute || l.Overdraft() != 0 {
				t.Errorf("limit %d, capacity %d, window %s, overdraft %d, want 7, 7, 2m, 0", l.Limit(), l.Capacity(), l.Window(), l.Overdraft())
			}
			if r.Shadow || r.Quota || r.Name != "" || r.Path != "shop.override" {
				t.Errorf("%+v, want no name and no modes", r)
			}
		})
	}
}

// TestOverrideKeepsTheAlignment: a window that starts with its first hit stays
// one under an override.
func TestOverrideKeepsTheAlignment(t *testing.T) {
	t.Parallel()
	d := compile(t, overridable).Domain("shop")
	r, err := d.Override(d.Match(entries("first", "1")), 7, descriptors.Minute, 1)
	if err != nil || r.OnGrid() {
		t.Errorf("on the grid = %v, error %v, want neither", r.OnGrid(), err)
	}
	grid := compile(t, "domain: d\n").Domain("d")
	if r, err := grid.Override(nil, 7, descriptors.Minute, 1); err != nil || !r.OnGrid() {
		t.Errorf("on the grid = %v, error %v, want a window on the grid to stay there", r.OnGrid(), err)
	}
}

func TestOverrideRefused(t *testing.T) {
	t.Parallel()
	d := compile(t, overridable).Domain("shop")
	for _, row := range []struct {
		name       string
		key        string
		requests   uint32
		unit       descriptors.Unit
		multiplier uint32
		want       string
	}{
		{"unit unknown", "none", 1, descriptors.UnknownUnit, 1, "limit.unit is 0, must be 1 (SECOND) to 7 (WEEK)"},
		{"unit out of range", "none", 1, 8, 1, "limit.unit is 8, must be 1 (SECOND) to 7 (WEEK)"},
		{"no multiplier", "none", 1, descriptors.Second, 0, "limit.unit_multiplier is 0, must be at least 1"},
		{"window too long", "none", 1, descriptors.Year, 2, "limit.unit_multiplier is 2, a window is at most 366 days"},
		{"multiplier too large", "none", 1, descriptors.Week, 1<<32 - 1, "limit.unit_multiplier is 4294967295, a window is at most 366 days"},
		{"log too long", "log", 100_001, descriptors.Day, 1, "limit: limit is 100001, must be 1 to 100000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := d.Override(d.Match(entries(row.key, "1")), row.requests, row.unit, row.multiplier)
			if err == nil || err.Error() != row.want {
				t.Errorf("error %v, want %s", err, row.want)
			}
		})
	}
	r, err := d.Override(nil, 0, descriptors.Day, 1)
	if err != nil || r.Limit.Kind() != algorithms.Deny || r.Limit.Window() != 24*time.Hour {
		t.Errorf("%+v, %v, want a rule that denies", r, err)
	}
}

// TestOverrideNamesAnAlgorithm as the rule does from which it takes it, or else
// the domain's defaults.
func TestOverrideNamesAnAlgorithm(t *testing.T) {
	t.Parallel()
	const rules = "descriptors: [{key: plain, rate_limit: {requests_per_unit: 1, unit: day}}, {key: named, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: day}}]\n"
	for _, row := range []struct {
		name, file, key string
		want            bool
	}{
		{"nothing", "domain: d\n" + rules, "plain", false},
		{"no rule", "domain: d\n" + rules, "none", false},
		{"the rule", "domain: d\n" + rules, "named", true},
		{"the file", "domain: d\ndefaults: {algorithm: fixed_window}\n" + rules, "plain", true},
		{"the file, no rule", "domain: d\ndefaults: {algorithm: fixed_window}\n" + rules, "none", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := compile(t, row.file).Domain("d")
			r, err := d.Override(d.Match(entries(row.key, "1")), 1, descriptors.Day, 1)
			if err != nil || r.AlgorithmNamed != row.want {
				t.Errorf("named = %v, error %v, want %v", r.AlgorithmNamed, err, row.want)
			}
		})
	}
}
