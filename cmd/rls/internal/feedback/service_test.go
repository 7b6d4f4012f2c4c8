package feedback

import (
	"crypto/tls"
	"io"
	"testing"
	"time"

	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/cmd/rls/internal/certs"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
	"github.com/eb50146d/rls/test/proc"
)

func TestReportLatency(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	if answer, err := s.tell("a", "x", 3); err != nil || answer.GetDropped() != "" {
		t.Errorf("%v, %v, want that it counts", answer, err)
	}
	if answer, err := s.tell("a", "x", 3); err != nil || answer.GetDropped() != "a repeat: its sequence or its window was reported before" {
		t.Errorf("%v, %v, want a repeat", answer, err)
	}
	_, err := s.tell("b", "x", 3)
	is(t, err, codes.NotFound, `no adaptive rule has the target "b": report about one of ["a"], or set adaptive.target of a rule to it`)
	_, err = s.tell("", "x", 3)
	is(t, err, codes.InvalidArgument, "target has 0 bytes, must have 1 to 256")
	_, err = s.ReportLatency(t.Context(), &feedbackv1.ReportLatencyRequest{})
	is(t, err, codes.InvalidArgument, "report is missing")
	s.want("a", seen{"x", -time.Second, 0, 0, 3, 0, false, nil})
	want := Stats{}
	want.Reports[Accepted], want.Reports[Repeat], want.Reports[UnknownTarget], want.Reports[Malformed] = 1, 1, 1, 2
	if diff := cmp.Diff(want, s.Stats()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	limits, err := s.GetLimits(t.Context(), &feedbackv1.GetLimitsRequest{})
	if err != nil || limits.GetLimits()[0].GetTarget() != "a" {
		t.Errorf("%v, %v", limits, err)
	}
}

func TestStreamLatency(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	stream := s.stream()
	send := func(target string, sequence uint64) {
		t.Helper()
		if err := stream.Send(&feedbackv1.StreamLatencyRequest{Report: &feedbackv1.Report{Target: target, Reporter: "x", Sequence: sequence, Ok: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	send("a", 1)
	send("unknown", 2)
	send("a", 3)
	send("a", 3)
	answer, err := stream.CloseAndRecv()
	if err != nil || answer.GetAccepted() != 2 || answer.GetDropped() != 2 {
		t.Errorf("%v, %v, want 2 accepted and 2 dropped", answer, err)
	}
	s.want("a", seen{"x", -time.Second, 0, 0, 2, 0, false, nil})

	stream = s.stream()
	send("a", 4)
	send("", 5)
	_, err = stream.CloseAndRecv()
	is(t, err, codes.InvalidArgument, "the stream's report number 2: target has 0 bytes, must have 1 to 256")
	s.want("a", seen{"x", -time.Second, 0, 0, 1, 0, false, nil})
}

// TestNoAdaptiveRule: nothing is served, until there is such a rule.
func TestNoAdaptiveRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := serve(t, w, loopback, nil, nil, nil)
	for _, err := range s.everyCall() {
		is(t, err, codes.Unavailable, "no rule with algorithm: adaptive is loaded, so there is nothing to report about")
	}
	w.SetTargets([]string{"a"})
	if _, err := s.tell("a", "x", 1); err != nil {
		t.Error(err)
	}
}

// TestNotAllowed: other machines are turned away, whatever they call, and the log
// says so once a minute.
func TestNotAllowed(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), elsewhere, []string{"198.51.100.2"}, nil, nil)
	for _, err := range s.everyCall() {
		is(t, err, codes.PermissionDenied, elsewhere+" may neither report nor ask for limits; --feedback-allow of rls says who may, beyond loopback")
	}
	if n := s.Stats().Reports[NotAllowed]; n != 4 {
		t.Errorf("%d counted, want 4", n)
	}
	if s.logs.Len() != 1 {
		t.Errorf("%d lines of log, want 1: %v", s.logs.Len(), s.logs.All())
	}
	s.wait(time.Minute)
	s.everyCall()
	if s.logs.Len() != 2 {
		t.Errorf("%d lines of log a minute later, want 2", s.logs.Len())
	}
}

func TestAllowedByAddress(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), elsewhere, []string{"10.0.0.0/8", "198.51.100.0/24"}, nil, nil)
	if _, err := s.tell("a", "x", 1); err != nil {
		t.Error(err)
	}
}

// TestAllowedByCertificate: the name in the certificate lets a caller in, and is
// its reporter whatever it says.
func TestAllowedByCertificate(t *testing.T) {
	t.Parallel()
	authority, err := proc.NewAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, err := authority.Issue(dir, "rls")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := authority.CA(dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := certs.NewServer(certs.Files{Cert: cert, Key: key, ClientCA: ca}, zap.NewNop(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, uri string
		allowed   bool
	}{
		{"named", "spiffe://mesh/app", true},
		{"another", "spiffe://mesh/other", false},
	} {
		cert, key, err := authority.Issue(t.TempDir(), "x", row.uri, "x.mesh")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, newWorld(t, "a"), elsewhere, []string{"spiffe://mesh/app"}, server, &tls.Config{
			Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13,
		})
		_, err = s.tell("a", "somebody else", 1)
		if row.allowed {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			s.want("a", seen{"", -time.Second, 0, 0, 1, 0, false, nil})
			continue
		}
		is(t, err, codes.PermissionDenied, elsewhere+`, whose certificate is of ["spiffe://mesh/other" "x.mesh" "x"], may neither report nor ask for limits; `+
			"--feedback-allow of rls says who may, beyond loopback")
	}
}

// TestStreamAccessLogs: nothing is ever answered; the end of the stream is no error.
func TestStreamAccessLogs(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	stream := s.accessLogs()
	for range 2 {
		if err := stream.Send(message("envoy", endedAt(0))); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	// gRPC wants an answer where a stream ends well; Envoy, which never ends one, does not.
	if err := stream.RecvMsg(&alspb.StreamAccessLogsResponse{}); err == nil || status.Code(err) == codes.OK {
		t.Errorf("%v", err)
	}
	s.wait(2 * time.Second)
	s.want("a", second("envoy", 0, 1, 2))
}

// TestClose: streams that their callers would never end, end; later ones, too.
func TestClose(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	reports, logs := s.stream(), s.accessLogs()
	if err := reports.Send(&feedbackv1.StreamLatencyRequest{Report: &feedbackv1.Report{Target: "a", Reporter: "x", Ok: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := logs.Send(message("envoy", endedAt(0))); err != nil {
		t.Fatal(err)
	}
	s.service.Close()
	s.service.Close()
	for _, stream := range []grpc.ClientStream{reports, logs, s.stream(), s.accessLogs()} {
		is(t, stream.RecvMsg(&feedbackv1.StreamLatencyResponse{}), codes.Unavailable, "this rls is ending")
	}
}

// TestPanic: a fault of ours ends one call, not the process.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(t, "a"), loopback, nil, nil, nil)
	err := s.service.until(func() error { panic("a fault") })
	is(t, err, codes.Internal, "rls failed while reading a report, see its log")
	if s.logs.FilterMessage("panic while reading a report").Len() != 1 {
		t.Errorf("%v", s.logs.All())
	}
	if err := s.service.until(func() error { return io.ErrUnexpectedEOF }); err != io.ErrUnexpectedEOF { //nolint:errorlint // the same
		t.Error(err)
	}
}
