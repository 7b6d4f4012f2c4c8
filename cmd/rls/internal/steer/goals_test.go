package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestGoals: what a rule says of its target's health is what it is steered by.
func TestGoals(t *testing.T) {
	t.Parallel()
	seconds := func(ms int) float64 { return float64(ms) / 1000 }
	tests := []struct {
		name     string
		adaptive string // beside the bounds
		p50, p99 int    // ms
		errors   uint64 // of 400
		cut      bool
	}{
		{"errors below the standard ratio", "", 20, 40, 16, false},
		{"errors above it", "", 20, 40, 24, true},
		{"errors below a ratio of the rule's", ", error_ratio: 0.5", 20, 40, 160, false},
		{"errors above a ratio of the rule's", ", error_ratio: 0.02", 20, 40, 16, true},
		{"p99 below its threshold", ", latency: {quantile: 0.99, threshold: 100ms}", 20, 90, 0, false},
		{"p99 above its threshold", ", latency: {quantile: 0.99, threshold: 100ms}", 20, 200, 0, true},
		{"p50 below its threshold", ", latency: {quantile: 0.5, threshold: 100ms}", 90, 400, 0, false},
		{"p50 above its threshold", ", latency: {quantile: 0.5, threshold: 100ms}", 200, 400, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, strings.ReplaceAll(oneRule, ", target", test.adaptive+", target"), nil, "")
			for range 3 {
				w.pass(400, 100)
				w.now = w.now.Add(time.Second)
				w.report("a", 0, adaptive.Row{
					Started: 400, OK: 400 - test.errors, Errors: test.errors, Latency: adaptive.TwoPoint(400, seconds(test.p50), seconds(test.p99)),
				}, true)
				w.Tick(t.Context())
			}
			if got := w.limit(); (got < 400) != test.cut {
				t.Errorf("limit %d, want a cut: %v", got, test.cut)
			}
		})
	}
}
