package feedback

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// UnaryClientInterceptor observes unary calls.
func (c *Client) UnaryClientInterceptor() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if spent(ctx) { // nothing is sent
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		var a answer
		opts = append(slices.Clip(opts), grpc.Header(&a.header), grpc.Trailer(&a.trailer), grpc.Peer(&a.peer)) // the array is the caller's
		start := c.begin()
		o := skipped // by a panic
		defer func() { c.end(start, o) }()
		err := invoke(ctx, method, req, reply, cc, opts...)
		if !a.unsent(err) {
			o = c.called(start, err, a.trailer)
		}
		return err
	}
}

// answer is what came of a call.
type answer struct {
	header, trailer metadata.MD
	peer            peer.Peer
}

// unsent says whether a call failed at its caller: a header or a message that
// cannot be sent, or credentials that are not to be had. A service that cannot be
// reached, or not in time, is another matter.
func (a *answer) unsent(err error) bool {
	switch s := status.Convert(err); s.Code() {
	case codes.OK, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return false
	default:
		const contentType = "content-type" // that all answers have
		silent := len(a.header[contentType]) == 0 && len(a.trailer[contentType]) == 0
		return a.peer.Addr == nil || silent && strings.HasPrefix(s.Message(), "grpc: error while marshaling")
	}
}

// called is the outcome of a call at its caller's side.
func (c *Client) called(start time.Time, err error, trailer metadata.MD) outcome {
	if err == nil {
		return served
	}
	// Envoy refuses with Unavailable, unless it is told otherwise.
	if len(trailer["x-envoy-ratelimited"]) > 0 {
		return skipped
	}
	return c.coded(start, status.Code(err))
}

func (c *Client) coded(start time.Time, code codes.Code) outcome {
	switch code {
	case codes.Canceled:
		return c.left(start)
	case codes.ResourceExhausted:
		return skipped
	case codes.Unavailable:
		return severed
	case codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.DataLoss:
		return failed
	default:
		return served
	}
}

// UnaryServerInterceptor observes the unary calls that a server serves, from where
// its other interceptors hand them on.
func (c *Client) UnaryServerInterceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
		if spent(ctx) { // whose fault it is cannot be told
			return handle(ctx, req)
		}
		start := c.begin()
		o := failed // by a panic
		defer func() { c.end(start, o) }()
		answer, err = handle(ctx, req)
		o = c.handled(ctx, start, err)
		return answer, err
	}
}

// handled is the outcome of a call at its server's side. What comes after the
// caller has gone comes too late, be it OK.
func (c *Client) handled(ctx context.Context, start time.Time, err error) outcome {
	if ctx.Err() != nil {
		return c.over(ctx, start)
	}
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err) // as the server itself does
	}
	return c.coded(start, s.Code())
}
