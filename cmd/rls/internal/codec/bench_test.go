package codec_test

import (
	"testing"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

func threeDescriptors() *rlspb.RateLimitRequest {
	q := &rlspb.RateLimitRequest{Domain: "edge"}
	for _, key := range []string{"user", "tenant", "remote_address"} {
		q.Descriptors = append(q.Descriptors, &ratelimitpb.RateLimitDescriptor{
			Entries: []*ratelimitpb.RateLimitDescriptor_Entry{{Key: "path", Value: "/v1/orders"}, {Key: key, Value: "198.51.100.17"}},
		})
	}
	return q
}

func BenchmarkDecode(b *testing.B) {
	data := mem.BufferSlice{mem.SliceBuffer(encoded(b, threeDescriptors()))}
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		c, q := codec.New(), new(codec.Request)
		for b.Loop() {
			if err := c.Unmarshal(data, q); err != nil || q.Err != nil {
				b.Fatal(err, q.Err)
			}
		}
	})
	b.Run("standard", func(b *testing.B) {
		b.ReportAllocs()
		standard := encoding.GetCodecV2(proto.Name)
		for b.Loop() {
			if err := standard.Unmarshal(data, new(rlspb.RateLimitRequest)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	benchmarkEncode(b, "codec", codec.New(), response())
	benchmarkEncode(b, "standard", encoding.GetCodecV2(proto.Name), messageOf(response()))
}

func benchmarkEncode(b *testing.B, name string, c encoding.CodecV2, message any) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out, err := c.Marshal(message)
			if err != nil {
				b.Fatal(err)
			}
			out.Free()
		}
	})
}
