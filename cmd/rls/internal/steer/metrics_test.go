package steer_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	c := steer.NewCollector(w.Steering)
	if n := testutil.CollectAndCount(c); n != 4 {
		t.Errorf("%d series before the first report, want 4", n)
	}
	w.busy()
	want := `
# HELP rls_adaptive_limit Limit in force of an adaptive rule, in hits per unit of the rule.
# TYPE rls_adaptive_limit gauge
rls_adaptive_limit{domain="shop",rule="checkout"} 408
# HELP rls_adaptive_delivered_rate Hits a second that the target of an adaptive rule answered well, as last reported.
# TYPE rls_adaptive_delivered_rate gauge
rls_adaptive_delivered_rate{domain="shop",rule="checkout"} 400
# HELP rls_adaptive_reason Always 1; the label says why the limit of an adaptive rule is where it is.
# TYPE rls_adaptive_reason gauge
rls_adaptive_reason{domain="shop",reason="growing",rule="checkout"} 1
# HELP rls_adaptive_report_age_seconds How long ago the interval ended of which the last reports tell. None before the first report.
# TYPE rls_adaptive_report_age_seconds gauge
rls_adaptive_report_age_seconds{domain="shop",rule="checkout"} 0
# HELP rls_adaptive_reporters Reporters of an adaptive rule's target that were heard in the last tick.
# TYPE rls_adaptive_reporters gauge
rls_adaptive_reporters{domain="shop",rule="checkout"} 1
`
	names := []string{"limit", "delivered_rate", "reason", "report_age_seconds", "reporters"}
	for i := range names {
		names[i] = "rls_adaptive_" + names[i]
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c); n != 7 {
		t.Errorf("%d series after a report, want 7", n)
	}
}
