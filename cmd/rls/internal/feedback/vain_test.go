package feedback

import (
	"context"
	"io"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/eb50146d/rls/pkg/feedback"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// TestInVain: a stream of which nothing counts is told why within seconds, and one
// of which something does goes on.
func TestInVain(t *testing.T) {
	t.Parallel()
	type sent struct {
		wait     time.Duration // before
		target   string
		sequence uint64
	}
	const ms = time.Millisecond
	notFound := `no adaptive rule has the target "b": report about one of ["a"], or set adaptive.target of a rule to it`
	for _, row := range []struct {
		name    string
		reports []sent // the last one ends the stream, if any does
		code    codes.Code
		message string
	}{
		{"a wrong target", []sent{{0, "b", 1}, {1999 * ms, "b", 2}, {1 * ms, "b", 3}}, codes.NotFound, notFound},
		{"a wrong target, not for long", []sent{{10 * time.Second, "b", 1}, {1999 * ms, "b", 2}}, codes.OK, ""},
		{"a wrong target that becomes right", []sent{{0, "b", 1}, {1000 * ms, "a", 2}, {1000 * ms, "b", 3}, {1999 * ms, "b", 4}}, codes.OK, ""},
		{"a right target that becomes wrong", []sent{{0, "a", 1}, {1000 * ms, "b", 2}, {2000 * ms, "b", 3}}, codes.NotFound, notFound},
		{"one of two targets", []sent{{0, "b", 1}, {0, "a", 1}, {4000 * ms, "b", 2}, {0, "a", 2}, {4000 * ms, "b", 3}, {0, "a", 3}}, codes.OK, ""},
		{
			"repeats",
			[]sent{{0, "a", 7}, {0, "a", 7}, {2000 * ms, "a", 7}},
			codes.FailedPrecondition,
			"no report of this stream has counted for 2s; the last one: a repeat: its sequence or its window was reported before",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			q := make(reports, 0, len(row.reports))
			for _, r := range row.reports {
				q = append(q, func() *feedbackv1.StreamLatencyRequest {
					w.wait(r.wait)
					return &feedbackv1.StreamLatencyRequest{Report: &feedbackv1.Report{Target: r.target, Reporter: "x", Sequence: r.sequence}}
				})
			}
			var r reading
			err := New(Config{Book: w.Book, Log: zap.NewNop()}).readReports(&r, &reportStream{left: q})
			is(t, err, row.code, row.message)
			if got := r.answer.GetAccepted() + r.answer.GetDropped(); got != uint64(len(row.reports)) {
				t.Errorf("%d reports were read, want %d", got, len(row.reports))
			}
		})
	}
}

// reports are sent one after the other.
type reports []func() *feedbackv1.StreamLatencyRequest

type reportStream struct {
	feedbackv1.FeedbackService_StreamLatencyServer

	left reports
}

func (s *reportStream) Recv() (*feedbackv1.StreamLatencyRequest, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	next := s.left[0]
	s.left = s.left[1:]
	return next(), nil
}

// TestWrongTargetIsTold: a client of the Go package hears of it while it runs.
func TestWrongTargetIsTold(t *testing.T) {
	t.Parallel()
	w := &world{t: t, Book: NewBook(time.Now)}
	w.SetTargets([]string{"search"})
	s := serve(t, w, loopback, nil, nil, nil)
	told := make(chan error, 1)
	c, err := feedback.New(s.conn, feedback.Options{Target: "searhc", Interval: 100 * time.Millisecond, OnError: func(err error) {
		select {
		case told <- err:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	is(t, <-told, codes.NotFound, `no adaptive rule has the target "searhc": report about one of ["search"], or set adaptive.target of a rule to it`)
	cancel()
	<-done
}
