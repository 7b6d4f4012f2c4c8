package feedback

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// server keeps what it is sent, and breaks off the first stream.
type server struct {
	feedbackv1.UnimplementedFeedbackServiceServer

	streams int // one at a time
	reports chan *feedbackv1.Report
}

func (s *server) StreamLatency(stream grpc.ClientStreamingServer[feedbackv1.StreamLatencyRequest, feedbackv1.StreamLatencyResponse]) error {
	s.streams++
	for {
		req, err := stream.Recv()
		if err == io.EOF { //nolint:errorlint // as it comes
			return stream.SendAndClose(&feedbackv1.StreamLatencyResponse{})
		}
		if err != nil {
			return err
		}
		s.reports <- req.GetReport()
		if s.streams == 1 {
			return status.Error(codes.Aborted, "once")
		}
	}
}

// TestReport sends to a real server: a stream that breaks off is replaced, and
// what is observed at last arrives.
func TestReport(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{reports: make(chan *feedbackv1.Report)}
	g := grpc.NewServer()
	feedbackv1.RegisterFeedbackServiceServer(g, s)
	done := make(chan error)
	go func() { done <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 10)
	c := client(t, conn, Options{Interval: 20 * time.Millisecond, OnError: func(err error) { errs <- err }})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	<-s.reports
	if err := <-errs; status.Code(err) != codes.Aborted {
		t.Errorf("the first stream ends with %v", err)
	}
	<-s.reports // of the next stream
	c.end(c.begin(), served)
	cancel()
	var ok uint64
	for open := true; open; {
		select {
		case r := <-s.reports:
			ok += r.GetOk()
		case <-ended:
			open = false
		}
	}
	if diff := cmp.Diff(uint64(1), ok); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(errs) > 0 {
		t.Errorf("the second stream ends with %v", <-errs)
	}
	conn.Close() //nolint:errcheck // it can only say that it is closed
	g.Stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
