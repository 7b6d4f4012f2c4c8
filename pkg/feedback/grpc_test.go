package feedback

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// byCode is what becomes of a call that ends with a code at once.
func byCode() map[codes.Code]outcome {
	all := map[codes.Code]outcome{
		codes.Canceled: skipped, codes.ResourceExhausted: skipped, codes.Unavailable: severed,
		codes.DeadlineExceeded: failed, codes.Internal: failed, codes.Unknown: failed, codes.DataLoss: failed,
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if all[code] == 0 {
			all[code] = served
		}
	}
	return all
}

func TestUnary(t *testing.T) {
	t.Parallel()
	for code, o := range byCode() {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{})
				want := status.Error(code, "why")
				got := c.UnaryClientInterceptor()(t.Context(), "/s/m", nil, nil, nil,
					func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, options ...grpc.CallOption) error {
						reach(options)
						time.Sleep(30 * time.Millisecond)
						return want
					})
				if !errors.Is(got, want) {
					t.Errorf("the caller gets %v", got)
				}
				if diff := cmp.Diff(one(o, 0.03), seenIn(c.take())); diff != "" {
					t.Errorf("at the client (-want +got):\n%s", diff)
				}
				answer, got := c.UnaryServerInterceptor()(t.Context(), nil, nil, func(context.Context, any) (any, error) {
					time.Sleep(30 * time.Millisecond)
					return "answer", want
				})
				if !errors.Is(got, want) || answer != "answer" {
					t.Errorf("the server answers %v, %v", answer, got)
				}
				if diff := cmp.Diff(one(o, 0.03), seenIn(c.take())); diff != "" {
					t.Errorf("at the server (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// reach notes that a call has reached its server, as gRPC does.
func reach(options []grpc.CallOption) {
	for _, o := range options {
		if p, ok := o.(grpc.PeerCallOption); ok {
			p.PeerAddr.Addr = new(net.TCPAddr)
		}
	}
}

func TestUnaryServer(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context, _ any) (any, error) {
		<-ctx.Done()
		return new(emptypb.Empty), nil
	}
	tests := []struct {
		name     string
		handler  grpc.UnaryHandler
		deadline time.Duration // of the call; 0 = none, -1 = it has passed
		timeout  time.Duration
		want     seen
	}{
		{name: "no status", handler: func(context.Context, any) (any, error) { return nil, errors.New("no status") }, want: one(failed, 0)},
		{name: "a context that is not the call's ended", handler: func(context.Context, any) (any, error) { return nil, context.Canceled }},
		{name: "a panic", handler: func(context.Context, any) (any, error) { panic("a panic") }, want: one(failed, 0)},
		{name: "over before it came", handler: wait, deadline: -1},
		{name: "OK, too late", handler: wait, deadline: time.Second, want: one(failed, 1)},
		{name: "the client goes", handler: wait},
		{name: "the client runs out of patience", handler: wait, timeout: time.Minute, want: one(failed, 60)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{Timeout: tt.timeout})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
				if tt.deadline != 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				}
				defer cancel()
				func() {
					defer func() { _ = recover() }()
					c.UnaryServerInterceptor()(ctx, nil, nil, tt.handler) //nolint:errcheck // seen by the client of the call
				}()
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// serve starts a gRPC server that handles every method, and returns a connection
// that c observes.
func serve(t *testing.T, c *Client, handle grpc.StreamHandler) *grpc.ClientConn {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(handle))
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(c.UnaryClientInterceptor()), grpc.WithStreamInterceptor(c.StreamClientInterceptor()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close() //nolint:errcheck // it can only say that it is closed
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// refuse is what Envoy does with a call over a limit.
func refuse(_ any, s grpc.ServerStream) error {
	s.SetTrailer(metadata.Pairs("x-envoy-ratelimited", "true"))
	return status.Error(codes.Unavailable, "")
}

// TestRefusedByEnvoy: the mark of a refusal is found, and shown to a caller that
// asks for it as well.
func TestRefusedByEnvoy(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	conn := serve(t, c, refuse)
	var trailer metadata.MD
	err := conn.Invoke(t.Context(), "/s/m", new(emptypb.Empty), new(emptypb.Empty), grpc.Trailer(&trailer))
	if status.Code(err) != codes.Unavailable || len(trailer["x-envoy-ratelimited"]) != 1 {
		t.Errorf("the caller gets %v, trailer %v", err, trailer)
	}
	s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/s/m")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(emptypb.Empty)); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream gets %v", err)
	}
	if diff := cmp.Diff(seen{}, seenIn(c.take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOptionsAreTheCallers: calls at the same time may share a slice of options.
func TestOptionsAreTheCallers(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	options := make([]grpc.CallOption, 1, 2)
	options[0] = grpc.WaitForReady(true)
	err := c.UnaryClientInterceptor()(t.Context(), "/s/m", nil, nil, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }, options...)
	if rest := options[:2][1]; rest != nil || err != nil {
		t.Errorf("%v was put behind the caller's options, %v", rest, err)
	}
}
