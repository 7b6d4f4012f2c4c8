package service_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend"
)

// dial serves a service in this process and connects to it.
func dial(t *testing.T, c service.Config) *grpc.ClientConn {
	t.Helper()
	c.Now = time.Now
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec.New()))
	service.New(c).Register(server)
	listener := bufconn.Listen(1 << 20)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:bufnet",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func wire(domain string, pairs ...string) *rlspb.RateLimitRequest {
	d := &ratelimitpb.RateLimitDescriptor{}
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &ratelimitpb.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return &rlspb.RateLimitRequest{Domain: domain, Descriptors: []*ratelimitpb.RateLimitDescriptor{d}}
}

const oneRule = "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 2, unit: minute}}, {key: s, shadow_mode: true, rate_limit: {requests_per_unit: 0, unit: minute}}]"

func TestOverGRPC(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneRule)
	metrics := telemetry.New("test")
	b.set = rules.Bind(b.set.Tree, rules.Options{}, metrics)
	client := rlspb.NewRateLimitServiceClient(dial(t, service.Config{Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: metrics}))
	var got []rlspb.RateLimitResponse_Code
	for range 3 {
		answer, err := client.ShouldRateLimit(t.Context(), wire("t", "k", "1"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, answer.GetOverallCode())
	}
	for _, q := range []*rlspb.RateLimitRequest{wire("t", "s", "1"), wire("t", "z", "1"), wire("u", "k", "1")} {
		if _, err := client.ShouldRateLimit(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	want := []rlspb.RateLimitResponse_Code{rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OVER_LIMIT}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := client.ShouldRateLimit(t.Context(), wire("")); status.Code(err) != codes.InvalidArgument {
		t.Errorf("error %v, want InvalidArgument", err)
	}
	exposed := `
# HELP rls_decisions_total Descriptors decided, by rule, algorithm and verdict.
# TYPE rls_decisions_total counter
rls_decisions_total{algorithm="",domain="t",rule="override",verdict="failed"} 0
rls_decisions_total{algorithm="",domain="t",rule="override",verdict="ok"} 0
rls_decisions_total{algorithm="",domain="t",rule="override",verdict="over_limit"} 0
rls_decisions_total{algorithm="",domain="t",rule="override",verdict="shadowed"} 0
rls_decisions_total{algorithm="deny",domain="t",rule="t.s",verdict="failed"} 0
rls_decisions_total{algorithm="deny",domain="t",rule="t.s",verdict="ok"} 0
rls_decisions_total{algorithm="deny",domain="t",rule="t.s",verdict="over_limit"} 0
rls_decisions_total{algorithm="deny",domain="t",rule="t.s",verdict="shadowed"} 1
rls_decisions_total{algorithm="fixed_window",domain="t",rule="t.k",verdict="failed"} 0
rls_decisions_total{algorithm="fixed_window",domain="t",rule="t.k",verdict="ok"} 2
rls_decisions_total{algorithm="fixed_window",domain="t",rule="t.k",verdict="over_limit"} 1
rls_decisions_total{algorithm="fixed_window",domain="t",rule="t.k",verdict="shadowed"} 0
# HELP rls_requests_total Requests answered, by gRPC code and, where it is OK, overall verdict.
# TYPE rls_requests_total counter
rls_requests_total{code="InvalidArgument",verdict=""} 1
rls_requests_total{code="OK",verdict="ok"} 5
rls_requests_total{code="OK",verdict="over_limit"} 1
# HELP rls_unmatched_total Descriptors that no rule matched, by reason.
# TYPE rls_unmatched_total counter
rls_unmatched_total{reason="no_rule"} 1
rls_unmatched_total{reason="unknown_domain"} 1
`
	if err := testutil.GatherAndCompare(metrics.Registry, strings.NewReader(exposed), "rls_decisions_total", "rls_requests_total", "rls_unmatched_total"); err != nil {
		t.Error(err)
	}
}

// TestShadowedIsCounted: what the switch for all rules lets pass counts as
// shadowed, as under a rule's own shadow_mode.
func TestShadowedIsCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 0, unit: minute}}]")
	metrics := telemetry.New("test")
	b.set = rules.Bind(b.set.Tree, rules.Options{}, metrics)
	client := rlspb.NewRateLimitServiceClient(dial(t, service.Config{
		Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: metrics, Options: service.Options{Shadow: true},
	}))
	if answer, err := client.ShouldRateLimit(t.Context(), wire("t", "k", "1")); err != nil || answer.GetOverallCode() != rlspb.RateLimitResponse_OK {
		t.Errorf("%v, %v, want OK", answer, err)
	}
	counted := metrics.Decisions(telemetry.Series{Domain: "t", Rule: "t.k", Algorithm: "deny"})
	if over, shadowed := testutil.ToFloat64(counted.OverLimit), testutil.ToFloat64(counted.Shadowed); over != 0 || shadowed != 1 {
		t.Errorf("%v over, %v shadowed, want 0 and 1", over, shadowed)
	}
}

// TestFaultsAreNeverUnknown: whatever fails, Envoy gets a gRPC error that its
// failure mode applies to.
func TestFaultsAreNeverUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneRule)
	active := func() *rules.Set { return b.set }
	for _, row := range []struct {
		name   string
		config service.Config
		want   codes.Code
	}{
		{"no rules", service.Config{Rules: func() *rules.Set { return nil }, Store: b.store}, codes.Unavailable},
		{"store failed", service.Config{Rules: active, Store: scripted{verdict: backend.Failed}}, codes.Unavailable},
		{"panic", service.Config{Rules: active, Store: scripted{fault: "boom"}}, codes.Internal},
		{"no verdict", service.Config{Rules: active, Store: scripted{}}, codes.Internal},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zap.ErrorLevel)
			row.config.Metrics, row.config.Log = telemetry.New("test"), zap.New(core)
			client := rlspb.NewRateLimitServiceClient(dial(t, row.config))
			for range 2 {
				_, err := client.ShouldRateLimit(t.Context(), wire("t", "k", "1"))
				if status.Code(err) != row.want {
					t.Errorf("error %v, want %s", err, row.want)
				}
			}
			if row.config.Store == (scripted{fault: "boom"}) && logs.Len() != 2 {
				t.Errorf("%d log lines, want one a panic", logs.Len())
			}
		})
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil } //nolint:errcheck,forcetypeassert // a test's own calls
func (rawCodec) Unmarshal(data []byte, v any) error {
	return proto.Unmarshal(data, v.(proto.Message)) //nolint:errcheck,forcetypeassert // a test's own calls
}
func (rawCodec) Name() string { return "proto" }

// TestAnyBytes: a value that is not UTF-8 is limited like any other, and bytes
// that are no message are the caller's fault.
func TestAnyBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneRule)
	conn := dial(t, service.Config{Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: telemetry.New("test")})
	send := func(data string) (*rlspb.RateLimitResponse, error) {
		body, answer := []byte(data), &rlspb.RateLimitResponse{}
		err := conn.Invoke(t.Context(), "/"+service.Name+"/ShouldRateLimit", &body, answer, grpc.ForceCodec(rawCodec{}))
		return answer, err
	}
	const bytes = "\x0a\x01t\x12\x0a\x0a\x08\x0a\x01k\x12\x03a\xffb"
	for _, want := range []rlspb.RateLimitResponse_Code{rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OVER_LIMIT} {
		answer, err := send(bytes)
		if err != nil || answer.GetOverallCode() != want {
			t.Errorf("%v, %v, want %v", answer, err, want)
		}
	}
	for _, garbage := range []string{"\xff", "\x0a\x05t", "\x12\x02\x0a", strings.Repeat("\x80", 11)} {
		if _, err := send(garbage); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: error %v, want InvalidArgument", garbage, err)
		}
	}
}
