package main

import (
	"fmt"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// raw is a gRPC codec that sends bytes as they are and reads only the overall code
// of an answer.
type raw struct{}

// Name is the content subtype that every gRPC service knows.
func (raw) Name() string { return "proto" }

// Marshal takes a []byte.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("encoding %T, want []byte", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal fills a *rlspb.RateLimitResponse_Code.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	code, ok := v.(*rlspb.RateLimitResponse_Code)
	if !ok {
		return fmt.Errorf("decoding into %T, want the overall code", v)
	}
	*code = rlspb.RateLimitResponse_UNKNOWN
	const overallCode = 1
	for b := data.Materialize(); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if number == overallCode && kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			*code = rlspb.RateLimitResponse_Code(int32(value)) //nolint:gosec // enums wrap on the wire
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
