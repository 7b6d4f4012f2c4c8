package feedback

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ends until the context does.
func ends(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// lost is a credential that is not to be had.
type lost struct{}

func (lost) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, errors.New("the token is lost")
}

func (lost) RequireTransportSecurity() bool { return false }

// TestUnsentGRPC goes over a connection: gRPC tells its own faults by the codes of
// the service's.
func TestUnsentGRPC(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	marshaling := status.Error(codes.Internal, "grpc: error while marshaling: of the service's own")
	conn := serve(t, c, func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		if md, _ := metadata.FromIncomingContext(s.Context()); len(md["x-begin"]) > 0 {
			if err := s.SendHeader(nil); err != nil {
				return err
			}
		}
		return marshaling
	})
	begun := metadata.AppendToOutgoingContext(t.Context(), "x-begin", "yes")
	strange := metadata.AppendToOutgoingContext(t.Context(), "x-name", "a\nb")
	for _, row := range []struct {
		name    string
		ctx     context.Context //nolint:containedctx // of one call
		send    any
		options []grpc.CallOption
		code    codes.Code
		want    seen
	}{
		{name: "the service's fault", ctx: t.Context(), send: new(emptypb.Empty), code: codes.Internal, want: seen{Started: 1, Errors: 1}},
		{name: "the service's fault, after it began", ctx: begun, send: new(emptypb.Empty), code: codes.Internal, want: seen{Started: 1, Errors: 1}},
		{name: "a header", ctx: strange, send: new(emptypb.Empty), code: codes.Internal},
		{name: "a message", ctx: t.Context(), send: wrapperspb.String("\xff"), code: codes.Internal},
		{name: "a long message", ctx: t.Context(), send: wrapperspb.String("long"), options: []grpc.CallOption{grpc.MaxCallSendMsgSize(1)}, code: codes.ResourceExhausted},
		{name: "a credential", ctx: t.Context(), send: new(emptypb.Empty), options: []grpc.CallOption{grpc.PerRPCCredentials(lost{})}, code: codes.Internal},
	} {
		check := func(kind string, err error) {
			t.Helper()
			got := seenIn(c.take())
			got.Latencies = nil
			if diff := cmp.Diff(row.want, got); diff != "" || status.Code(err) != row.code {
				t.Errorf("%s, %s: %v (-want +got):\n%s", row.name, kind, err, diff)
			}
		}
		check("unary", conn.Invoke(row.ctx, "/s/m", row.send, new(emptypb.Empty), row.options...))
		s, err := conn.NewStream(row.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/s/m", row.options...)
		if err == nil {
			if err = s.SendMsg(row.send); err == nil {
				err = s.RecvMsg(new(emptypb.Empty))
			}
		}
		check("stream", err)
	}
}

// TestPanics: what panics on the way to the service leaves nothing in flight.
func TestPanics(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	for _, call := range []func(){
		func() {
			c.UnaryClientInterceptor()(t.Context(), "/s/m", nil, nil, nil, //nolint:errcheck // panics
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("a panic") })
		},
		func() {
			c.StreamClientInterceptor()(t.Context(), nil, nil, "/s/m", //nolint:errcheck // panics
				func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
					panic("a panic")
				})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic does not come through")
				}
			}()
			call()
		}()
	}
	if diff := cmp.Diff(seen{}, seenIn(c.take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
