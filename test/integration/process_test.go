package integration

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/eb50146d/rls/test/proc"
)

// TestHangUp: SIGHUP ends in order, as SIGTERM does.
func TestHangUp(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\n"))
	if err := syscall.Kill(r.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil || !strings.Contains(r.Output(), "draining") {
		t.Errorf("ended with %v:\n%s", err, r.Output())
	}
}

// TestSecondSignalDoesNotWait for callers that stay connected.
func TestSecondSignalDoesNotWait(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\n"), "--drain-delay", "1h", "--drain-timeout", "1h")
	watch, err := healthpb.NewHealthClient(r.Conn()).Watch(context.WithoutCancel(t.Context()), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := r.Terminate(); err != nil {
		t.Fatal(err)
	}
	if answer, err := watch.Recv(); err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Fatalf("%v, %v, want NOT_SERVING", answer, err)
	}
	if err := r.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Errorf("ended with %v:\n%s", err, r.Output())
	}
}

// TestLogReaderGone: the service goes on when nobody reads its log any more.
func TestLogReaderGone(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	port, err := programs.ports.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), programs.rls, "serve", "--config", rulesOf(t, "domain: d\n"), "--grpc-addr", proc.Loopback(port),
		"--http-addr", "127.0.0.1:0", "--admin-addr", "", "--drain-delay", "0s")
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close() //nolint:errcheck // ours; rls has its own
	line := make([]byte, 1)
	if _, err := io.ReadFull(read, line); err != nil { // it has begun to log
		t.Fatal(err)
	}
	read.Close() //nolint:errcheck // what is tested
	for range 20 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", proc.Loopback(port))
		if err != nil {
			tick(t)
			continue
		}
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") //nolint:errcheck // rls may close first; it logs a line either way
		io.Copy(io.Discard, conn)                                 //nolint:errcheck // until it closes
		conn.Close()                                              //nolint:errcheck // it has ended
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v, want in order", err)
	}
}

// tick waits a moment between two tries.
func tick(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// TestNoOperatorsPort: an empty address is no port.
func TestNoOperatorsPort(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\n"), "--admin-addr", "")
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", proc.Loopback(r.Admin)); err == nil {
		conn.Close() //nolint:errcheck // the error is that there is one
		t.Error("the operator's port is open")
	}
}
