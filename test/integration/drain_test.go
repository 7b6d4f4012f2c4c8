package integration

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/eb50146d/rls/test/proc"
)

// TestRollingUpdate stops one of two replicas under traffic that would show any
// failed call as a 500.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	leaving := startRLS(t, "testdata/limits", "--drain-delay", "5s")
	staying := startRLS(t, "testdata/limits")
	const endpoint = "        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8081}}}\n"
	second := "        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: " + strconv.Itoa(staying.GRPC) + "}}}\n"
	e := startEnvoy(t, "http-ratelimit.yaml", leaving, upstream(t), append(closed, endpoint, endpoint+second)...)

	var callers sync.WaitGroup
	gone := make(chan struct{})
	for range 8 {
		callers.Go(func() { callUntil(t, e, gone) })
	}
	if err := leaving.Terminate(); err != nil {
		t.Error(err)
	}
	notServing(t, leaving)
	if code, err := ask(t.Context(), leaving); err != nil || code != rlspb.RateLimitResponse_OK {
		t.Errorf("a draining replica answers %v, %v", code, err)
	}
	if err := leaving.Wait(); err != nil {
		t.Errorf("the replica that left ended with %v", err)
	}
	close(gone)
	callers.Wait()
}

// callUntil sends requests until gone, and some more.
func callUntil(t *testing.T, e *proc.Envoy, gone <-chan struct{}) {
	t.Helper()
	for after := 0; after < 20; {
		resp, err := send(t.Context(), e, "/checkout")
		if err != nil {
			t.Error(err)
			return
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
		select {
		case <-gone:
			after++
		default:
		}
	}
}

// TestSecondSignal pins that the operator can cut a long drain short.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	rls := startRLS(t, "testdata/limits", "--drain-delay", "1h")
	if err := rls.Terminate(); err != nil {
		t.Fatal(err)
	}
	notServing(t, rls)
	if err := rls.Stop(); err != nil {
		t.Errorf("rls ended with %v", err)
	}
}

func notServing(t *testing.T, rls *proc.RLS) {
	t.Helper()
	if err := rls.Await(t.Context(), func(ctx context.Context) error {
		return rls.Expect(ctx, healthpb.HealthCheckResponse_NOT_SERVING)
	}); err != nil {
		t.Error(err)
	}
}

func ask(ctx context.Context, rls *proc.RLS) (rlspb.RateLimitResponse_Code, error) {
	answer, err := rlspb.NewRateLimitServiceClient(rls.Conn()).ShouldRateLimit(ctx, &rlspb.RateLimitRequest{
		Domain: "shop",
		Descriptors: []*ratelimitpb.RateLimitDescriptor{{Entries: []*ratelimitpb.RateLimitDescriptor_Entry{
			{Key: "route", Value: "/checkout"},
		}}},
	})
	return answer.GetOverallCode(), err
}
