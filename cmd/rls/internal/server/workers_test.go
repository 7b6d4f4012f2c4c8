package server

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
)

// TestWorkersLeft: open streams, which go on for days, leave workers for requests.
func TestWorkersLeft(t *testing.T) {
	t.Parallel()
	const streams, left = 56, 8
	book := feedback.NewBook(time.Now)
	book.SetTargets([]string{"a"})
	s := feedback.New(feedback.Config{Book: book, Log: zap.NewNop()})
	g := grpc.NewServer(grpcOptions()...)
	s.Register(g)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close() //nolint:errcheck // it can only say that it is closed
		s.Close()
		g.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for range streams {
		if _, err := alspb.NewAccessLogServiceClient(conn).StreamAccessLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open, idle := 0, 0
	for open < streams && t.Context().Err() == nil {
		runtime.Gosched()
		open, idle = goroutines()
	}
	if idle < left {
		t.Errorf("%d idle workers beside %d streams, want %d", idle, open, left)
	}
}

// goroutines counts streams that are served, and workers that serve nothing.
func goroutines() (streams, idle int) {
	stacks := make([]byte, 1<<21)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		switch {
		case strings.Contains(stack, "feedback.(*Service).until("):
			streams++
		case strings.Contains(stack, "grpc.(*Server).serverWorker(") && !strings.Contains(stack, "handleStream"):
			idle++
		}
	}
	return streams, idle
}
