package integration

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
	"github.com/eb50146d/rls/test/proc"
)

const adaptiveRule = `
domain: shop
descriptors:
  - key: route
    value: /checkout
    rate_limit:
      algorithm: adaptive
      requests_per_unit: 400
      unit: second
      adaptive: {min_limit: 50, max_limit: 2000, target: checkout}
`

// limitOf is where the only adaptive rule is.
func limitOf(t *testing.T, r *proc.RLS) *feedbackv1.Limit {
	t.Helper()
	answer, err := feedbackv1.NewFeedbackServiceClient(r.Conn()).GetLimits(t.Context(), &feedbackv1.GetLimitsRequest{})
	if err != nil || len(answer.GetLimits()) != 1 {
		t.Fatalf("limits %v, error %v, want one", answer.GetLimits(), err)
	}
	return answer.GetLimits()[0]
}

// failing reports that most requests of the last 100 ms failed.
func failing(t *testing.T, r *proc.RLS) {
	t.Helper()
	now := time.Now()
	_, err := feedbackv1.NewFeedbackServiceClient(r.Conn()).ReportLatency(t.Context(), &feedbackv1.ReportLatencyRequest{Report: &feedbackv1.Report{
		Target: "checkout", Reporter: "test", Sequence: uint64(now.UnixNano()),
		WindowStart: timestamppb.New(now.Add(-time.Second / 10)), WindowEnd: timestamppb.New(now),
		Started: 100, Ok: 20, Errors: 80,
		Latency: &feedbackv1.Report_Quantiles{Quantiles: &feedbackv1.Quantiles{P50: durationpb.New(time.Second), P99: durationpb.New(time.Second)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplicasSteerTogether: what one replica hears moves the limit of all, one that
// starts later goes on from there, and without Redis the limit stays.
func TestReplicasSteerTogether(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rules := rulesOf(t, adaptiveRule)
	one, two := startRLS(t, rules, server.backendArgs()...), startRLS(t, rules, server.backendArgs()...)
	eventually(t, "the limit is at its minimum on both, and silence will leave it there", func() bool {
		failing(t, one)
		for _, r := range []*proc.RLS{one, two} {
			if l := limitOf(t, r); l.GetRequestsPerUnit() != 50 || l.GetReason() != string(adaptive.DrainingErrors) {
				return false
			}
		}
		return true
	})
	if a, b := limitOf(t, one), limitOf(t, two); !a.GetChangedAt().AsTime().Equal(b.GetChangedAt().AsTime()) {
		t.Errorf("changed at %v and %v, want the same", a.GetChangedAt().AsTime(), b.GetChangedAt().AsTime())
	}
	for _, r := range []*proc.RLS{one, two} {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	}
	three := startRLS(t, rules, server.backendArgs()...)
	if got := limitOf(t, three).GetRequestsPerUnit(); got != 50 {
		t.Errorf("limit %d right after a start, want 50 as before", got)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	eventually(t, "the replica says that it is by itself", func() bool { return strings.Contains(three.Output(), "steers by itself") })
	if got := limitOf(t, three).GetRequestsPerUnit(); got != 50 {
		t.Errorf("limit %d without Redis, want 50 still", got)
	}
}
