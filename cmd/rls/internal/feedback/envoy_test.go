package feedback

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// What the upstream takes for a request, and a queue holds one for.
const (
	upstreamTakes = 60 * time.Millisecond
	queueHolds    = 300 * time.Millisecond
)

// TestEnvoy: what a real Envoy logs of each outcome, n times.
func TestEnvoy(t *testing.T) {
	t.Parallel()
	const n = 3
	e := newEdge(t)
	var held time.Duration
	for range n {
		for _, path := range []string{"/ok", "/error", "/timeout", "/refused", "/reset", "/denied", "/grpc/failed", "/grpc/unavailable", "/grpc/ok", "/refuses", "/marked", "/grpc/exhausted"} {
			e.get(path, nil)
		}
		held = max(held, e.get("/held", http.Header{"X-Tenant": {"a\xff\xfeb"}}))
		e.get("/tagged", http.Header{"X-Targets": {"/tagged"}})
		e.get("/none", http.Header{"X-Targets": {"/none"}})
	}
	e.until("entries", func() bool { return e.book.Stats().Entries >= 15*n })
	stats := e.book.Stats()
	if stats.Entries != 15*n || stats.Skipped[SkipRefused] != 3*n || stats.Skipped[SkipDenied] != n || stats.Skipped[SkipNoUpstream] != n || stats.Skipped[SkipMalformed] != 0 {
		t.Errorf("%+v", stats)
	}
	for _, row := range []struct {
		target          string
		ok, errors      uint64
		latencies       uint64
		least, greatest time.Duration // of a latency; 0 = any
	}{
		{"/ok", n, 0, n, upstreamTakes, 0},
		{"/error", 0, n, n, upstreamTakes, 0},
		{"/timeout", 0, n, n, time.Second / 2, 0}, // of a second, part of which the connection may take
		{"/refused", 0, n, 0, 0, 0},
		{"/reset", 0, n, 0, 0, 0},
		{"/grpc/failed", 0, n, n, upstreamTakes, 0},
		{"/grpc/unavailable", 0, n, 0, 0, 0},
		{"/grpc/ok", n, 0, n, upstreamTakes, 0},
		{"/held", n, 0, n, upstreamTakes, held - queueHolds},
		{"/tagged", n, 0, n, upstreamTakes, 0},
	} {
		got := e.took(row.target, n)
		if got.OK != row.ok || got.Errors != row.errors || got.Latency.Count() != row.latencies {
			t.Errorf("%s: %d ok, %d errors, %d latencies", row.target, got.OK, got.Errors, got.Latency.Count())
		}
		for bucket := range got.Latency.All() {
			if bucket < bucketOf(row.least) || row.greatest > 0 && bucket > bucketOf(row.greatest) {
				t.Errorf("%s: %v s, want %v to %v", row.target, adaptive.Middle(bucket), row.least, row.greatest)
			}
		}
	}
	for _, target := range []string{"/denied", "/none", "/refuses", "/marked", "/grpc/exhausted"} {
		if got := e.book.Take(target); got != nil {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

// TestEnvoyReturns: an rls that ends takes leave of Envoy, whose log comes to the
// next one.
func TestEnvoyReturns(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.get("/ok", nil)
	e.took("/ok", 1)
	e.stop()
	e.start()
	e.until("the log", func() bool {
		e.get("/ok", http.Header{"X-Tenant": {strings.Repeat("x", 100)}})
		return e.book.Stats().Entries > e.book.Stats().Skipped[SkipUnattributed]
	})
	e.took("/ok", 1)
}
