package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
