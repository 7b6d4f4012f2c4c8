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
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
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

// rawCodec sends and receives the bytes of a message as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, status.Errorf(codes.Internal, "message is %T, want []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return status.Errorf(codes.Internal, "message is %T, want *[]byte", v)
	}
	*b = data.Materialize()
	return nil
}

func TestRawBytes(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	tests := []struct {
		name string
		wire string
		code codes.Code
		want string // the answer's bytes
	}{
		{
			"not UTF-8", "\x0a\x04edge\x12\x0c\x0a\x0a\x0a\x01k\x12\x05a\xff\xfeb\x00", codes.OK,
			"\x08\x02\x12\x05\x12\x03\x1a\x01k\x1a\x0f\x0a\x05value\x12\x06a\uFFFDb\x00",
		},
		{"garbage", "\x0a\x04ed", codes.InvalidArgument, ""},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", codes.InvalidArgument, ""},
		{"nothing", "", codes.OK, "\x08\x02"},
		{"handler without a verdict", "\x0a\x04none", codes.Internal, ""},
	}
	for _, tt := range tests {
		var got []byte
		err := conn.Invoke(t.Context(), rlspb.RateLimitService_ShouldRateLimit_FullMethodName,
			[]byte(tt.wire), &got, grpc.ForceCodecV2(rawCodec{}))
		if status.Code(err) != tt.code {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.code)
		}
		if d := cmp.Diff(tt.want, string(got)); d != "" {
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

func TestStandardMessages(t *testing.T) {
	t.Parallel()
	if _, err := codec.New().Marshal("text"); err == nil {
		t.Error("Marshal of a string succeeds")
	}
	var s string
	if err := codec.New().Unmarshal(nil, &s); err == nil {
		t.Error("Unmarshal into a string succeeds")
	}
	want := request("k", "v")
	out, err := codec.New().Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got rlspb.RateLimitRequest
	if err := codec.New().Unmarshal(out, &got); err != nil || !proto.Equal(want, &got) {
		t.Errorf("standard message = %v, %v; want %v", &got, err, want)
	}
}
