package codec_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// echo answers OVER_LIMIT and returns the request: each first entry as the name
// of a limit, its value as a response header. The domain "none" gets no verdict.
type echo struct{ requests sync.Pool }

func (e *echo) answer(decode func(any) error) (*codec.Response, error) {
	q, ok := e.requests.Get().(*codec.Request)
	if !ok {
		q = new(codec.Request)
	}
	defer e.requests.Put(q)
	if err := decode(q); err != nil {
		return nil, err
	}
	if q.Err != nil {
		return nil, status.Error(codes.InvalidArgument, q.Err.Error())
	}
	if q.Domain == "none" {
		return new(codec.Response), nil
	}
	r := &codec.Response{Code: codec.OverLimit}
	for _, d := range q.Descriptors {
		entry := d.Entries[0]
		r.Statuses = append(r.Statuses, codec.Status{HasLimit: true, Limit: codec.Limit{Name: strings.Clone(entry.Key)}})
		r.ResponseHeaders = append(r.ResponseHeaders, codec.Header{Key: "value", Value: strings.Clone(entry.Value)})
	}
	return r, nil
}

func request(key, value string) *rlspb.RateLimitRequest {
	entry := &ratelimitpb.RateLimitDescriptor_Entry{Key: key, Value: value}
	return &rlspb.RateLimitRequest{
		Domain:      "edge",
		Descriptors: []*ratelimitpb.RateLimitDescriptor{{Entries: []*ratelimitpb.RateLimitDescriptor_Entry{entry}}},
	}
}

// serve starts a server with the codec beside health and reflection, and gives
// a connection to it whose client has the standard codec.
func serve(t *testing.T) *grpc.ClientConn {
	t.Helper()
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec.New()))
	e := &echo{}
	handle := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		return e.answer(decode)
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: rlspb.RateLimitService_ServiceDesc.ServiceName,
		Methods:     []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handle}},
		Metadata:    rlspb.RateLimitService_ServiceDesc.Metadata,
	}, nil)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)

	listener := bufconn.Listen(1 << 16)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:rls",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func TestServer(t *testing.T) {
	t.Parallel()
	client := rlspb.NewRateLimitServiceClient(serve(t))
	large := strings.Repeat("v", 100_000)
	tests := []struct {
		name  string
		value string
		opts  []grpc.CallOption
	}{
		{"plain", "v", nil},
		{"gzip", "v", []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		{"several frames", large, nil},
		{"several frames of gzip", large, []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
	}
	for _, tt := range tests {
		got, err := client.ShouldRateLimit(t.Context(), request("k", tt.value), tt.opts...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := messageOf(&codec.Response{
			Code:            codec.OverLimit,
			Statuses:        []codec.Status{{HasLimit: true, Limit: codec.Limit{Name: "k"}}},
			ResponseHeaders: []codec.Header{{Key: "value", Value: tt.value}},
		})
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func TestOtherServices(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	client := grpc_health_v1.NewHealthClient(conn)
	check, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || check.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health check = %v, %v", check, err)
	}
	watch, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	update, err := watch.Recv()
	if err != nil || update.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("health watch = %v, %v", update, err)
	}
}

func TestReflectionStream(t *testing.T) {
	t.Parallel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(serve(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := rlspb.RateLimitService_ServiceDesc.ServiceName
	for range 2 {
		ask := &grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		}
		if err := stream.Send(ask); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
			t.Errorf("answer %v, want the file of %s", answer, name)
		}
	}
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	client := rlspb.NewRateLimitServiceClient(serve(t))
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for n := range 50 {
				// Over 1 KiB, so that gRPC's pooled buffers are in use.
				value := strings.Repeat(string(rune('a'+i)), 1000*(1+n%3))
				got, err := client.ShouldRateLimit(t.Context(), request("k", value))
				if err != nil {
					t.Error(err)
					return
				}
				if d := cmp.Diff(value, got.GetResponseHeadersToAdd()[0].GetValue()); d != "" {
					t.Errorf("client %d: -want +got\n%s", i, d)
				}
			}
		})
	}
	clients.Wait()
}
