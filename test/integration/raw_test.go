package integration

import (
	"context"
	"fmt"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/test/proc"
)

// raw sends bytes as they are, since the standard codec refuses strings that are
// not UTF-8.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("encoding %T, want []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(unread); ok {
		return nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("decoding into %T, want a message", v)
	}
	return proto.Unmarshal(data.Materialize(), m)
}

// sendRaw asks with an encoded request.
func sendRaw(ctx context.Context, r *proc.RLS, wire []byte) (*rlspb.RateLimitResponse, error) {
	answer := &rlspb.RateLimitResponse{}
	return answer, invoke(ctx, r, wire, answer)
}

// unread is where an answer goes that nobody looks at.
type unread struct{}

func invoke(ctx context.Context, r *proc.RLS, wire []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.Conn().Invoke(ctx, rlspb.RateLimitService_ShouldRateLimit_FullMethodName, wire, answer, grpc.ForceCodecV2(raw{}))
}

// encode is a request whose descriptors each have keys and values by turns, in
// any bytes.
func encode(domain string, descriptors ...[]string) []byte {
	wire := field(nil, 1, domain)
	for _, pairs := range descriptors {
		var d []byte
		for i := 0; i < len(pairs); i += 2 {
			d = field(d, 1, string(field(field(nil, 1, pairs[i]), 2, pairs[i+1])))
		}
		wire = field(wire, 2, string(d))
	}
	return wire
}

func field(to []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, number, protowire.BytesType), text)
}
