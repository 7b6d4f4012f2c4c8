package adaptive_test

import (
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// The shortest use: a row, a merge, a step.
func TestRowToLimit(t *testing.T) {
	t.Parallel()
	row := adaptive.Row{Started: 500, OK: 500, Latency: adaptive.TwoPoint(500, 0.02, 0.06)}
	stats := adaptive.Merge([]adaptive.Row{row})
	stats.Admitted, stats.AdmittedThen, stats.Denied, stats.Age, stats.Interval = 400, 400, 100, 1, 1
	c := adaptive.NewConfig(50, 2000, 400)
	s := c.Step(c.Start(), stats)
	if s.Limit <= 400 || s.Reason != adaptive.Growing {
		t.Errorf("limit %v, %s", s.Limit, s.Reason)
	}
}
