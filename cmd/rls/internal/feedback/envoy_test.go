package feedback

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	"github.com/eb50146d/rls/test/proc"
)

// What the upstream takes for a request, and a queue holds one for.
const (
	upstreamTakes = 60 * time.Millisecond
	queueHolds    = 300 * time.Millisecond
)

// judgeByPath is a rate limit service that names the path as the target.
type judgeByPath struct {
	rlspb.UnimplementedRateLimitServiceServer
}

func (judgeByPath) ShouldRateLimit(ctx context.Context, q *rlspb.RateLimitRequest) (*rlspb.RateLimitResponse, error) {
	path := q.GetDescriptors()[0].GetEntries()[0].GetValue()
	answer := &rlspb.RateLimitResponse{OverallCode: rlspb.RateLimitResponse_OK}
	switch path {
	case "/denied":
		answer.OverallCode = rlspb.RateLimitResponse_OVER_LIMIT
	case "/held":
		rest(ctx, queueHolds)
	case "/tagged":
		return answer, nil
	}
	answer.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{targetsKey: structpb.NewStringValue(path)}}
	return answer, nil
}

// rest waits as long, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// upstream answers by the path.
func upstream(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/timeout":
		<-r.Context().Done()
	case "/error":
		rest(r.Context(), upstreamTakes)
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/reset":
		panic(http.ErrAbortHandler)
	default:
		rest(r.Context(), upstreamTakes)
	}
}

// edge is a real Envoy whose rls and upstream are of this process.
type edge struct {
	t     *testing.T
	envoy *proc.Envoy
	rls   int // port
	book  *Book
	stop  func() // rls
}

func newEdge(t *testing.T) *edge {
	t.Helper()
	root, err := proc.Root()
	if err != nil {
		t.Fatal(err)
	}
	path, err := proc.FindEnvoy(root)
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("testdata/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(http.HandlerFunc(upstream))
	t.Cleanup(up.Close)
	var ports proc.Ports
	e := &edge{t: t}
	if e.rls, err = ports.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.start()
	t.Cleanup(func() { e.stop() })
	upPort := int(netip.MustParseAddrPort(up.Listener.Addr().String()).Port())
	if e.envoy, err = proc.StartEnvoy(t.Context(), path, &ports, string(config), e.rls, upPort); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.envoy.Stop() //nolint:errcheck // how Envoy ends is not our concern
		if t.Failed() {
			t.Logf("output of Envoy:\n%s", e.envoy.Output())
		}
	})
	return e
}

// start starts an rls that remembers nothing.
func (e *edge) start() {
	e.t.Helper()
	e.book = NewBook(time.Now)
	e.book.SetTargets([]string{"/ok", "/error", "/timeout", "/refused", "/reset", "/denied", "/held", "/tagged", "/none"})
	s := New(Config{Book: e.book, Log: zap.NewNop()})
	g := grpc.NewServer(grpc.ForceServerCodecV2(codec.New()))
	s.Register(g)
	rlspb.RegisterRateLimitServiceServer(g, judgeByPath{})
	l, err := new(net.ListenConfig).Listen(e.t.Context(), "tcp", proc.Loopback(e.rls))
	if err != nil {
		e.t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := g.Serve(l); err != nil {
			e.t.Error(err)
		}
	})
	e.stop = sync.OnceFunc(func() {
		s.Close()
		g.GracefulStop() // ends, since no stream is left
		serving.Wait()
	})
}

// get sends one request and says how long it took.
func (e *edge) get(path string, header http.Header) time.Duration {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proc.Loopback(e.envoy.Listener)+path, http.NoBody)
	if err != nil {
		e.t.Fatal(err)
	}
	if header != nil {
		q.Header = header
	}
	transport := &http.Transport{DisableKeepAlives: true}
	begun := time.Now()
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		e.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it has been read
	_, err = io.Copy(io.Discard, answer.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return time.Since(begun)
}

// until polls for as long as it must.
func (e *edge) until(what string, done func() bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*time.Minute)
	defer cancel()
	for !done() {
		if ctx.Err() != nil {
			e.t.Fatalf("%s: not in time; %+v", what, e.book.Stats())
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// took takes all samples of a target, which must be n.
func (e *edge) took(target string, n uint64) adaptive.Row {
	e.t.Helper()
	var sum adaptive.Row
	e.until(target, func() bool {
		for _, o := range e.book.Take(target) {
			if o.Reporter != "envoy-1" || o.StartedKnown || o.End.Sub(o.Start)%time.Second != 0 || o.End.After(time.Now()) {
				e.t.Errorf("of %s: %+v", target, o)
			}
			merge(&sum, &o.Row)
		}
		return sum.OK+sum.Errors >= n
	})
	return sum
}

// TestEnvoy: what a real Envoy logs of each outcome, n times.
func TestEnvoy(t *testing.T) {
	t.Parallel()
	const n = 3
	e := newEdge(t)
	var held time.Duration
	for range n {
		for _, path := range []string{"/ok", "/error", "/timeout", "/refused", "/reset", "/denied"} {
			e.get(path, nil)
		}
		held = max(held, e.get("/held", http.Header{"X-Tenant": {"a\xff\xfeb"}}))
		e.get("/tagged", http.Header{"X-Targets": {"/tagged"}})
		e.get("/none", http.Header{"X-Targets": {"/none"}})
	}
	e.until("entries", func() bool { return e.book.Stats().Entries >= 9*n })
	stats := e.book.Stats()
	if stats.Entries != 9*n || stats.Skipped[SkipDenied] != n || stats.Skipped[SkipNoUpstream] != n || stats.Skipped[SkipMalformed] != 0 {
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
	for _, target := range []string{"/denied", "/none"} {
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
