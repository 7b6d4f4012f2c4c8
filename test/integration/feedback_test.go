package integration

import (
	"os"
	"path/filepath"
	"testing"

	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
	"github.com/eb50146d/rls/test/proc"
)

// told is the status of a report about a target.
func told(t *testing.T, r *proc.RLS, target string) codes.Code {
	t.Helper()
	_, err := feedbackv1.NewFeedbackServiceClient(r.Conn()).ReportLatency(t.Context(), &feedbackv1.ReportLatencyRequest{
		Report: &feedbackv1.Report{Target: target, Reporter: "test", Ok: 1},
	})
	return status.Code(err)
}

// TestReportsAreForAdaptiveRules: they are taken while there is such a rule, and
// about what is its target.
func TestReportsAreForAdaptiveRules(t *testing.T) {
	t.Parallel()
	dir := rulesOf(t, "domain: shop\n")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startRLS(t, dir)
	if got := told(t, r, "checkout"); got != codes.Unavailable {
		t.Errorf("without an adaptive rule: %v", got)
	}
	write(adaptiveRule)
	eventually(t, "the rule is there", func() bool { return told(t, r, "checkout") == codes.OK })
	if got := told(t, r, "chekout"); got != codes.NotFound {
		t.Errorf("another target: %v", got)
	}
	write("domain: shop\n")
	eventually(t, "the rule has gone", func() bool { return told(t, r, "checkout") == codes.Unavailable })
}

// TestStreamsEndWithRLS: what Envoys and agents never end does not hold up the end
// of rls.
func TestStreamsEndWithRLS(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, adaptiveRule), "--drain-timeout", "1h")
	logs, err := alspb.NewAccessLogServiceClient(r.Conn()).StreamAccessLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reports, err := feedbackv1.NewFeedbackServiceClient(r.Conn()).StreamLatency(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := logs.Send(&alspb.StreamAccessLogsMessage{}); err != nil {
		t.Fatal(err)
	}
	if err := reports.Send(&feedbackv1.StreamLatencyRequest{Report: &feedbackv1.Report{Target: "checkout", Reporter: "test"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report has come", func() bool {
		return metric(t, r, `rls_feedback_reports_total{outcome="accepted"}`) == 1
	})
	if err := r.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Errorf("rls ended with %v", err)
	}
	for _, stream := range []grpc.ClientStream{logs, reports} {
		if err := stream.RecvMsg(&feedbackv1.StreamLatencyResponse{}); status.Code(err) != codes.Unavailable {
			t.Errorf("a stream ended with %v, want UNAVAILABLE", err)
		}
	}
}
