package descriptors_test

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestThreshold: the longest threshold that a rule may have can be exceeded.
func TestThreshold(t *testing.T) {
	t.Parallel()
	const text = "domain: d\ndescriptors: [{key: a, value: b, rate_limit: {algorithm: adaptive, requests_per_unit: 5, unit: second, " +
		"adaptive: {min_limit: 1, max_limit: 9, latency: {threshold: 2m}}}}]"
	tree := compile(t, text)
	var s adaptive.Sketch
	s.Add(adaptive.Bucket(time.Hour.Seconds()), 1)
	if longest, _ := s.Quantile(1); longest <= tree.Rules[0].Adaptive.Threshold.Seconds() {
		t.Errorf("latencies are %v s at most", longest)
	}
}
