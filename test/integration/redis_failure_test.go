package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
