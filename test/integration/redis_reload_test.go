package integration

import (
	"fmt"
	"strings"
	"testing"
)

// TestRedisReload: a changed limit keeps what was used, another family begins anew
// on a key of its own, and nothing fails.
func TestRedisReload(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rule := func(algorithm string, limit int) string {
		return fmt.Sprintf("domain: t\ndescriptors: [{key: k, rate_limit: {algorithm: %s, requests_per_unit: %d, period: 365d}}]\n", algorithm, limit)
	}
	f := newFolder(t, "rules.yaml", rule("fixed_window", 10))
	r := startRLS(t, f.dir, server.backendArgs()...)
	spend := func(what string, want int) {
		t.Helper()
		if ok := admits(t, r, 20, "k", "1"); ok != want {
			t.Errorf("%s: %d admitted, want %d", what, ok, want)
		}
	}
	version := 1
	becomes := func(text string) {
		t.Helper()
		version++
		f.put("rules.yaml", text)
		eventually(t, "the rules", func() bool {
			_, _, body := request(t, r.Admin, "GET", "/config", "")
			return strings.Contains(body, fmt.Sprintf(`"version":%d,`, version))
		})
	}
	spend("10 at first", 10)
	becomes(rule("fixed_window", 15))
	spend("5 more", 5) // at once, although refusals are remembered
	for _, algorithm := range []string{"sliding_window", "sliding_window, variant: log", "gcra"} {
		becomes(rule(algorithm, 7))
		spend(algorithm, 7)
	}
	becomes(rule("token_bucket", 7))
	spend("the same family", 0)
	becomes(rule("fixed_window", 15))
	spend("back again", 0)
	if n := len(keys(t, server.client)); n != 4 {
		t.Errorf("%d keys, want one for each family, 4", n)
	}
	if text := r.Output(); strings.Contains(text, "did not decide") || strings.Contains(text, "WRONGTYPE") {
		t.Errorf("a request failed:\n%s", text)
	}
}

// TestRD10ReloadsLeakNothing: after many reloads as many connections and goroutines
// are there as after the first.
func TestRD10ReloadsLeakNothing(t *testing.T) {
	t.Parallel()
	const reloads = 10
	server := startRedis(t)
	f := newFolder(t, "rules.yaml", ruleFile(1))
	f.rls = startRLS(t, f.dir, server.backendArgs()...)
	connections := func() int {
		return strings.Count(server.client.ClientList(t.Context()).Val(), "\n")
	}
	var first float64
	var firstConnections int
	for n := range uint32(reloads) {
		f.put("rules.yaml", ruleFile(int(n)+2))
		f.becomes(n + 2)
		if n == 0 {
			first, firstConnections = metric(t, f.rls, "go_goroutines"), connections()
		}
	}
	eventually(t, "as many goroutines and connections as at first", func() bool {
		return metric(t, f.rls, "go_goroutines") < first+reloads/2 && connections() < firstConnections+reloads/2
	})
	if ok, refused := f.reloads(); ok < reloads || refused > 0 {
		t.Errorf("%d reloads, %d refused", ok, refused)
	}
}
