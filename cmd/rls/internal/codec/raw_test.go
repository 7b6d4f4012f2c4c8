package codec_test

import (
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

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
