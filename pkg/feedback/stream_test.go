package feedback

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// script is a stream whose answers take 30 ms each.
type script struct {
	grpc.ClientStream

	refused error
	send    error
	answers []error // nil is a message
}

func (s *script) open(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return s, s.refused
}

func (s *script) SendMsg(any) error { return s.send }

func (s *script) RecvMsg(any) error {
	time.Sleep(30 * time.Millisecond)
	err := s.answers[0]
	s.answers = s.answers[1:]
	return err
}

func (s *script) Trailer() metadata.MD { return nil }

func TestStream(t *testing.T) {
	t.Parallel()
	unavailable := status.Error(codes.Unavailable, "")
	internal := status.Error(codes.Internal, "")
	receive := func(s grpc.ClientStream) error { return s.RecvMsg(nil) }
	sendAfter := func(d time.Duration) func(s grpc.ClientStream) error {
		return func(s grpc.ClientStream) error {
			time.Sleep(d)
			return s.SendMsg(nil)
		}
	}
	tests := []struct {
		name   string
		script script
		steps  []func(grpc.ClientStream) error
		want   seen
		errs   []error
	}{
		{name: "not opened", script: script{refused: unavailable}, want: one(severed, 0)},
		{name: "not opened in time", script: script{refused: status.Error(codes.DeadlineExceeded, "")}, want: one(failed, 0)},
		{name: "not to be opened", script: script{refused: status.Error(codes.Unauthenticated, "")}},
		{name: "answers", script: script{answers: []error{nil, nil, io.EOF}}, steps: []func(grpc.ClientStream) error{
			sendAfter(0), receive, sendAfter(time.Second), receive, receive,
		}, want: one(served, 0.03), errs: []error{nil, nil, nil, nil, io.EOF}},
		{name: "no answers", script: script{answers: []error{io.EOF}}, steps: []func(grpc.ClientStream) error{receive}, want: one(served, 0.03), errs: []error{io.EOF}},
		{name: "a fault", script: script{answers: []error{internal}}, steps: []func(grpc.ClientStream) error{receive}, want: one(failed, 0.03), errs: []error{internal}},
		{name: "a fault after an answer", script: script{answers: []error{nil, internal}}, steps: []func(grpc.ClientStream) error{
			receive, receive,
		}, want: one(served, 0.03), errs: []error{nil, internal}},
		{name: "messages over an hour, and an answer", script: script{answers: []error{nil}}, steps: []func(grpc.ClientStream) error{
			sendAfter(time.Minute), sendAfter(time.Hour), receive,
		}, want: one(served, 0.03), errs: []error{nil, nil, nil}},
		{name: "not to be sent", script: script{send: internal}, steps: []func(grpc.ClientStream) error{sendAfter(time.Minute)}, errs: []error{internal}},
		{name: "not sent", script: script{send: unavailable}, steps: []func(grpc.ClientStream) error{sendAfter(time.Minute)}, want: one(severed, 0), errs: []error{unavailable}},
		{name: "not sent, for a reason", script: script{send: io.EOF, answers: []error{unavailable}}, steps: []func(grpc.ClientStream) error{
			sendAfter(0), receive,
		}, want: one(severed, 0), errs: []error{io.EOF, unavailable}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{})
				s, err := c.StreamClientInterceptor()(t.Context(), nil, nil, "/s/m", tt.script.open)
				if !errors.Is(err, tt.script.refused) {
					t.Errorf("opening gives %v", err)
				}
				for i, step := range tt.steps {
					if err := step(s); !errors.Is(err, tt.errs[i]) {
						t.Errorf("step %d gives %v, want %v", i, err, tt.errs[i])
					}
				}
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestStreamLeft: a caller may end the context of a stream and not look at it again.
func TestStreamLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		leave   func(context.Context) (context.Context, context.CancelFunc) // after a second
		timeout time.Duration
		want    seen
	}{
		{name: "by a deadline", leave: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, want: one(failed, 1)},
		{name: "by the caller", leave: canceled},
		{name: "out of patience", leave: canceled, timeout: time.Second, want: one(failed, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{Timeout: tt.timeout})
				ctx, cancel := tt.leave(t.Context())
				defer cancel()
				if _, err := c.StreamClientInterceptor()(ctx, nil, nil, "/s/m", (&script{}).open); err != nil {
					t.Fatal(err)
				}
				<-ctx.Done()
				synctest.Wait()
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func canceled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

// watched counts who waits for its end.
type watched struct {
	context.Context

	done    chan struct{}
	waiting int
}

func (w *watched) Done() <-chan struct{} { return w.done }

// AfterFunc is what context.AfterFunc looks for.
func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.waiting++
	return func() bool {
		w.waiting--
		return true
	}
}

// TestStreamWatch: a context that lives long does not remember streams that have
// been counted.
func TestStreamWatch(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]*script{
		"an answer": {answers: []error{nil, io.EOF}}, "not sent": {send: errors.New("not sent"), answers: []error{io.EOF}},
	} {
		ctx := &watched{Context: t.Context(), done: make(chan struct{})}
		s, err := client(t, nil, Options{}).StreamClientInterceptor()(ctx, nil, nil, "/s/m", next.open)
		if err != nil {
			t.Fatal(err)
		}
		before := ctx.waiting
		s.SendMsg(nil) //nolint:errcheck // scripted
		if name == "an answer" {
			s.RecvMsg(nil) //nolint:errcheck // scripted
		}
		if before != 1 || ctx.waiting != 0 {
			t.Errorf("%s: %d wait for the end of the context, then %d", name, before, ctx.waiting)
		}
	}
}

// TestStreamAnswered: what ends the context after an answer changes nothing.
func TestStreamAnswered(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{Timeout: 1})
	conn := serve(t, c, func(_ any, s grpc.ServerStream) error {
		if err := s.SendMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		<-s.Context().Done()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/s/m")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.RecvMsg(new(emptypb.Empty)); status.Code(err) != codes.Canceled {
		t.Errorf("after the end: %v", err)
	}
	got := seenIn(c.take())
	got.Latencies = nil
	if diff := cmp.Diff(seen{Started: 1, OK: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
