// Package codec reads Envoy's RateLimitRequest from the wire and writes the
// RateLimitResponse, without reflection. Other messages keep gRPC's codec, unless
// they are a [Decoder].
//
// The standard decoder refuses a whole message for one string that is not
// UTF-8. Envoy sends such strings (a query of ?tenant=a%FFb is enough) and then
// lets the request through unlimited. Here those bytes stay in the Go string:
// escape them before they go to a log, a header or a metric.
package codec

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec is an [encoding.CodecV2] for grpc.ForceServerCodecV2. It is safe for
// concurrent use.
type Codec struct {
	standard encoding.CodecV2
}

// Decoder is a message that reads itself. Decode keeps no part of wire, and has
// to remember by itself that wire is malformed.
type Decoder interface{ Decode(wire []byte) }

// New returns a Codec.
func New() Codec {
	return Codec{standard: encoding.GetCodecV2(proto.Name)}
}

// Name returns the content subtype of the standard codec.
func (Codec) Name() string { return proto.Name }

// Unmarshal replaces the content of v. For a [Decoder] the error is always nil,
// and a malformed [*Request] has Err set: gRPC would answer an error of the codec
// with INTERNAL, and only the handler can answer INVALID_ARGUMENT.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	d, ok := v.(Decoder)
	if !ok {
		return c.standard.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	d.Decode(buf.ReadOnlyData())
	return nil
}

// Marshal writes v. A [*Response] whose Code is neither [OK] nor [OverLimit] is
// an error, because Envoy takes any other code for an admission.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*Response)
	if !ok {
		return c.standard.Marshal(v)
	}
	return r.marshal()
}
