package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSE04RedisKeysAreHashed on request: nothing that Redis holds tells a value.
func TestSE04RedisKeysAreHashed(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const value = "hunter2-session-token"
	holds := func() bool {
		for _, key := range keys(t, server.client) {
			if strings.Contains(key+server.client.Dump(t.Context(), key).Val(), value) {
				return true
			}
		}
		return false
	}
	hashed := startRLS(t, "testdata/exact", append(server.backendArgs(), "--redis-hash-keys", secret)...)
	for _, key := range exactKeys {
		if got := code(t, hashed, "exact", key, value); got != "OK" {
			t.Errorf("%s: %s, want OK", key, got)
		}
	}
	if n := len(keys(t, server.client)); n == 0 || holds() {
		t.Errorf("%d keys, and a value among them", n)
	}
	plain := startRLS(t, "testdata/exact", server.backendArgs()...)
	code(t, plain, "exact", "gcra", value)
	if !holds() {
		t.Error("the test would not see a value")
	}
}

// TestLT03OneCommandARequest: Redis gets one command for a lone request, whatever
// it asks, and none while a refusal is remembered.
func TestLT03OneCommandARequest(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRLS(t, "testdata/exact", server.backendArgs()...)
	code(t, r, "exact", "gcra", "warm") // connects, and brings the script
	scripts := func() (n int64) {
		for line := range strings.Lines(server.client.Info(t.Context(), "commandstats").Val()) {
			for _, command := range []string{"cmdstat_evalsha:", "cmdstat_eval:"} {
				if stats, ok := strings.CutPrefix(line, command+"calls="); ok {
					calls, _, _ := strings.Cut(stats, ",")
					m, err := strconv.ParseInt(calls, 10, 64)
					if err != nil {
						t.Error(err)
					}
					n += m
				}
			}
		}
		return n
	}
	before := scripts()
	var pairs []string
	for _, key := range exactKeys {
		pairs = append(pairs, key, "x")
	}
	const requests = 20
	for range requests {
		if got := code(t, r, "exact", pairs...); got != "OK" {
			t.Errorf("%s, want OK", got)
		}
	}
	if n := scripts() - before; n != requests {
		t.Errorf("%d calls of the script for %d requests", n, requests)
	}
	if _, err := sendRaw(t.Context(), r, withHits(encode("exact", []string{"gcra", "y"}), 1000)); err != nil {
		t.Fatal(err)
	}
	before = scripts()
	eventually(t, "a refusal from memory", func() bool {
		if got := code(t, r, "exact", "gcra", "y"); got != "OVER_LIMIT" {
			t.Errorf("%s, want OVER_LIMIT", got)
		}
		return metric(t, r, "rls_over_limit_cache_answers_total") >= requests
	})
	if n := scripts() - before; n == 0 || n >= requests {
		t.Errorf("%d calls of the script, want one a second", n)
	}
}

// TestRedisReplay: a replay answers as on states of its own, and leaves nothing
// behind, nor sees what is there.
func TestRedisReplay(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `{"t_ns": %d, "domain": "t", "descriptors": [{"entries": [{"key": "k", "value": "1"}]}]}`+"\n", 1_790_000_000_000_000_000+i*1_000_000)
	}
	if err := os.WriteFile(trace, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	replay := func(args ...string) string {
		args = append([]string{"replay", "--config", rulesOf(t, ruleFile(10))}, append(args, trace)...)
		out, err := exec.CommandContext(t.Context(), programs.rls, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	want := replay()
	for range 2 {
		if diff := cmp.Diff(want, replay(server.backendArgs()...)); diff != "" {
			t.Errorf("(-local +redis):\n%s", diff)
		}
	}
	if left := keys(t, server.client); len(left) > 0 {
		t.Errorf("keys are left: %q", left)
	}
}
