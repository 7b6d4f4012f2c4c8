package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/eb50146d/rls/test/proc"
)

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
	if status, _, text := request(t, r.HTTP, "POST", "/json", `{"domain": "t", "descriptors": [{"entries": [{"key": "error", "value": "x"}]}]}`); status != 503 ||
		text != "the store did not decide in time\n" {
		t.Errorf("/json: %d %q, want 503", status, text)
	}
	for key := range want {
		if key == "error" { // and once by /json
			want[key] = append(want[key], failed)
		}
		if n := metric(t, r, fmt.Sprintf(`rls_degraded_total{domain="t",rule="t.%s",source=%q}`, key, key)); n != float64(len(want[key])) {
			t.Errorf("rls_degraded_total of %s is %v, want %d", key, n, len(want[key]))
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
	if n := strings.Count(waits.Output(), "redis is not ready"); n > 2 {
		t.Errorf("%d lines of the log while waiting, want one in 5 s", n)
	}
	restartRedis(t, port)
	expect(waits, healthpb.HealthCheckResponse_SERVING)
	if n := strings.Count(waits.Output(), "redis"); n == 0 {
		t.Error("the log does not tell what was awaited")
	}
	eventually(t, "a decision", func() bool { return code(t, waits, "t", "k", "1") == "OK" })
}

// TestLT01AnAnswerInAnyCase: a Redis that is stuck costs no caller its deadline.
func TestLT01AnAnswerInAnyCase(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRLS(t, rulesOf(t, `domain: t
descriptors:
  - {key: allow, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: year, on_error: allow}}
  - {key: error, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: year}}
`), "--backend", "redis", "--redis-url", "redis://"+server.Addr())
	if err := server.client.Do(t.Context(), "CLIENT", "PAUSE", 600_000, "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 10 {
				if got := code(t, r, "t", "allow", "x"); got != "OK" {
					t.Errorf("on_error allow: %s, want OK", got)
				}
				if got := code(t, r, "t", "error", "x"); !strings.Contains(got, "code = Unavailable") {
					t.Errorf("on_error error: %s, want UNAVAILABLE", got)
				}
			}
		})
	}
	callers.Wait()
	if timeouts, open := metric(t, r, `rls_redis_errors_total{kind="timeout"}`), metric(t, r, `rls_redis_errors_total{kind="unavailable"}`); timeouts == 0 || timeouts+open != 2*160 {
		t.Errorf("%v timeouts and %v behind an open breaker, want 320 in all", timeouts, open)
	}
	if err := server.client.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Redis to decide again", func() bool { return admits(t, r, 2, "allow", "y") < 2 })
}

// TestRD08Full: a Redis without room is told apart, on_error decides, and one that may
// throw limits away is warned of at the start.
func TestRD08Full(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	set := func(name, value string) {
		t.Helper()
		if err := server.client.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory-policy", "allkeys-lru")
	r := startRLS(t, rulesOf(t, `domain: t
descriptors:
  - {key: allow, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: year, on_error: allow}}
  - {key: log, rate_limit: {algorithm: sliding_window, variant: log, requests_per_unit: 1, unit: year, on_error: deny}}
`), server.backendArgs()...)
	if n := strings.Count(r.Output(), "maxmemory-policy allkeys-lru"); n != 1 {
		t.Errorf("%d warnings of eviction, want 1:\n%s", n, r.Output())
	}
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "1")
	got := []string{code(t, r, "t", "allow", "x"), code(t, r, "t", "allow", "x"), code(t, r, "t", "log", "x")}
	if diff := cmp.Diff([]string{"OK", "OK", "OVER_LIMIT"}, got); diff != "" {
		t.Errorf("without room (-want +got):\n%s", diff)
	}
	if n := metric(t, r, `rls_redis_errors_total{kind="oom"}`); n != 3 {
		t.Errorf("rls_redis_errors_total of kind oom is %v, want 3", n)
	}
	set("maxmemory", "0")
	if got := code(t, r, "t", "log", "x"); got != "OK" {
		t.Errorf("with room: %s, want OK", got)
	}
}

// TestUP02OldRedis: one that is too old keeps rls from getting ready, and the log says
// what it is and what is needed.
func TestUP02OldRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	old, err := proc.NewProxy(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close() //nolint:errcheck // it has done its work
	old.Meddle(func(sent []byte) []byte {
		const field = "redis_version:"
		if _, version, ok := bytes.Cut(sent, []byte(field)); ok {
			version[0] = '5'
		}
		return sent
	})
	r, err := proc.LaunchRLS(t.Context(), programs.rls, &programs.ports, rulesOf(t, ruleFile(10)), "--backend", "redis", "--redis-url", "redis://"+old.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Stop() //nolint:errcheck // how it ends is not the test's concern
		logOnFailure(t, "rls", r.Process)
	})
	eventually(t, "the log to say so", func() bool {
		return strings.Contains(r.Output(), "redis is of version") && strings.Contains(r.Output(), "must be at least 6.2")
	})
	if err := r.Expect(t.Context(), healthpb.HealthCheckResponse_NOT_SERVING); err != nil {
		t.Error(err)
	}
	old.Meddle(nil)
	if err := r.Await(t.Context(), func(ctx context.Context) error { return r.Expect(ctx, healthpb.HealthCheckResponse_SERVING) }); err != nil {
		t.Error(err)
	}
}
