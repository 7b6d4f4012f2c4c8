package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eb50146d/rls/test/proc"
)

// exactKeys are the rules of testdata/exact, one of each algorithm.
var exactKeys = []string{ //nolint:gochecknoglobals // a constant list
	"fixed_window_epoch", "fixed_window_first", "sliding_window_counter", "sliding_window_buckets", "sliding_window_log",
	"token_bucket", "leaky_bucket_meter", "leaky_bucket_queue", "gcra", "adaptive",
}

// exactly spends 64 workers' requests on each of three replicas, for each
// algorithm, and wants 1,000 admitted in all.
func exactly(t *testing.T, args ...string) {
	t.Helper()
	const limit, each = 1000, 600
	var replicas [3]*proc.RLS
	for i := range replicas {
		replicas[i] = startRLS(t, "testdata/exact", args...)
	}
	for _, key := range exactKeys {
		var ok, over atomic.Int64
		var loads sync.WaitGroup
		for _, r := range replicas {
			loads.Go(func() {
				got, err := proc.Load(t.Context(), programs.load, "-addr", proc.Loopback(r.GRPC), "-domain", "exact", "-key", key,
					"-workers", "64", "-requests", strconv.Itoa(each))
				if err != nil || got.Failed > 0 {
					t.Errorf("%s: %+v, %v", key, got, err)
				}
				ok.Add(got.OK)
				over.Add(got.Over)
			})
		}
		loads.Wait()
		if ok.Load() != limit || over.Load() != 3*each-limit {
			t.Errorf("%s: %d OK and %d OVER, want %d and %d", key, ok.Load(), over.Load(), limit, 3*each-limit)
		}
	}
}

// TestWC03RedisIsExact: three replicas on one Redis share each limit exactly.
func TestWC03RedisIsExact(t *testing.T) {
	t.Parallel()
	exactly(t, startRedis(t).backendArgs()...)
}

// TestWC08RedisSurvivesARollingRestart, and a replica whose clock is wrong counts
// by the clock of Redis.
func TestWC08RedisSurvivesARollingRestart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rules := rulesOf(t, ruleFile(10))
	clock := filepath.Join(t.TempDir(), "clock")
	ok := 0
	for i, uses := range []int{4, 3, 9} {
		setClock(t, clock, time.Now().Unix()+5*int64(i)-5)
		r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, rules, []string{"RLS_TEST_CLOCK=" + clock}, server.backendArgs()...)
		if err != nil {
			t.Fatal(err)
		}
		ok += admits(t, r, uses, "t", "k", "1")
		if n := metric(t, r, "rls_state_resets_total"); n != 0 {
			t.Errorf("rls_state_resets_total is %v, want 0", n)
		}
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(r.Output(), "every limit begins unused") {
			t.Error("the log says that limits begin unused")
		}
	}
	if ok != 10 {
		t.Errorf("%d admitted, want 10", ok)
	}
}

// TestRedisClocksThatDiffer: replicas whose clocks are 5 s apart agree, since
// Redis' decides.
func TestRedisClocksThatDiffer(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	dir := t.TempDir()
	var replicas [2]*proc.RLS
	for i := range replicas {
		clock := filepath.Join(dir, strconv.Itoa(i))
		setClock(t, clock, time.Now().Unix()-5*int64(i))
		r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, "testdata/exact", []string{"RLS_TEST_CLOCK=" + clock}, server.backendArgs()...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Stop() }) //nolint:errcheck // how it ends is not the test's concern
		replicas[i] = r
	}
	for _, key := range exactKeys {
		ok := 0
		for range 6 {
			for _, r := range replicas {
				a, err := sendRaw(t.Context(), r, withHits(encode("exact", []string{key, "x"}), 100))
				if err != nil {
					t.Fatal(err)
				}
				if a.GetOverallCode().String() == "OK" {
					ok++
				}
			}
		}
		if ok != 10 {
			t.Errorf("%s: %d times 100 hits admitted, want 10 times", key, ok)
		}
	}
}

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
		if ok := admits(t, r, 20, "t", "k", "1"); ok != want {
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

// TestRD12RedisGone: each rule's on_error decides, says so, and Redis decides again
// once it is back.
func TestRD12RedisGone(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRLS(t, (&testCase{Config: `domain: t
descriptors:
  - {key: error, rate_limit: {algorithm: gcra, requests_per_unit: 100, unit: year}}
  - {key: allow, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: year, on_error: allow}}
  - {key: deny, rate_limit: {algorithm: gcra, requests_per_unit: 100, unit: year, on_error: deny}}
  - {key: local, rate_limit: {algorithm: gcra, requests_per_unit: 3, unit: year, on_error: local}}
`}).write(t), "--backend", "redis", "--redis-url", "redis://"+server.Addr(), "--redis-budget", "2s")
	if got := code(t, r, "t", "local", "x"); got != "OK" {
		t.Errorf("before: %s, want OK", got)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for range 5 {
		for _, key := range []string{"error", "allow", "deny", "local"} {
			got[key] = append(got[key], code(t, r, "t", key, "x"))
		}
	}
	const failed = "rpc error: code = Unavailable desc = the store did not decide in time"
	want := map[string][]string{
		"error": slices.Repeat([]string{failed}, 5), "allow": slices.Repeat([]string{"OK"}, 5),
		"deny": slices.Repeat([]string{"OVER_LIMIT"}, 5), "local": {"OK", "OK", "OK", "OVER_LIMIT", "OVER_LIMIT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without Redis (-want +got):\n%s", diff)
	}
	for key := range want {
		if n := metric(t, r, fmt.Sprintf(`rls_degraded_total{domain="t",rule="t.%s",source=%q}`, key, key)); n != 5 {
			t.Errorf("rls_degraded_total of %s is %v, want 5", key, n)
		}
	}
	for key, want := range map[string]string{"allow": "fallback", "deny": "fallback"} {
		a, err := sendRaw(t.Context(), r, encode("t", []string{key, "x"}))
		if err != nil || a.GetDynamicMetadata().GetFields()["rls.degraded"].GetStringValue() != want {
			t.Errorf("%s: metadata %v, %v, want rls.degraded", key, a.GetDynamicMetadata(), err)
		}
	}
	if err := r.Expect(t.Context(), healthpb.HealthCheckResponse_SERVING); err != nil {
		t.Error(err)
	}
	if n := strings.Count(r.Output(), "did not decide"); n == 0 || n > 3 {
		t.Errorf("%d lines of the log about it, want one at first and one in 5 s", n)
	}

	restartRedis(t, server.Port)
	eventually(t, "Redis to decide again", func() bool { return code(t, r, "t", "error", "y") == "OK" })
	if got := []string{code(t, r, "t", "allow", "y"), code(t, r, "t", "allow", "y"), code(t, r, "t", "deny", "y")}; !slices.Equal(got, []string{"OK", "OVER_LIMIT", "OK"}) {
		t.Errorf("back: %v", got)
	}
	if n := metric(t, r, fmt.Sprintf("rls_redis_breaker_open{node=%q}", server.Addr())); n != 0 {
		t.Errorf("rls_redis_breaker_open is %v, want 0", n)
	}
}

// TestRD01BeforeRedis: a rls that starts first waits in quiet, and becomes ready by
// itself; one that need not wait serves.
func TestRD01BeforeRedis(t *testing.T) {
	t.Parallel()
	port, err := programs.ports.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *proc.RLS {
		r, err := proc.LaunchRLS(t.Context(), programs.rls, &programs.ports, rulesOf(t, ruleFile(10)),
			append(args, "--backend", "redis", "--redis-url", "redis://"+proc.Loopback(port))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			r.Stop() //nolint:errcheck // how it ends is not the test's concern
			logOnFailure(t, "rls", r.Process)
		})
		return r
	}
	waits, serves := start(), start("--ready-without-redis")
	expect := func(r *proc.RLS, want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if err := r.Await(t.Context(), func(ctx context.Context) error { return r.Expect(ctx, want) }); err != nil {
			t.Fatal(err)
		}
	}
	expect(waits, healthpb.HealthCheckResponse_NOT_SERVING)
	expect(serves, healthpb.HealthCheckResponse_SERVING)
	if n := strings.Count(waits.Output(), "does not answer yet"); n > 2 {
		t.Errorf("%d lines of the log while waiting, want one in 5 s", n)
	}
	restartRedis(t, port)
	expect(waits, healthpb.HealthCheckResponse_SERVING)
	if n := strings.Count(waits.Output(), "redis"); n == 0 {
		t.Error("the log does not tell what was awaited")
	}
	eventually(t, "a decision", func() bool { return code(t, waits, "t", "k", "1") == "OK" })
}

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
}

// withHits adds the request's hits to its message.
func withHits(wire []byte, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(wire, 3, protowire.VarintType), n)
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
