package feedback

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
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
	case "/refuses":
		w.WriteHeader(http.StatusTooManyRequests)
	case "/marked":
		w.Header().Set("X-Envoy-Ratelimited", "true")
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/grpc/exhausted":
		answerGRPC(w, r, "8")
	case "/error":
		rest(r.Context(), upstreamTakes)
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/grpc/ok":
		answerGRPC(w, r, "0")
	case "/grpc/failed":
		answerGRPC(w, r, "13")
	case "/grpc/unavailable": // with no answer, the status is in the headers
		w.Header().Set("Grpc-Status", "14")
	case "/reset":
		panic(http.ErrAbortHandler)
	default:
		rest(r.Context(), upstreamTakes)
	}
}

// answerGRPC has a status behind its answer.
func answerGRPC(w http.ResponseWriter, r *http.Request, status string) {
	w.Header().Set("Trailer", "Grpc-Status")
	rest(r.Context(), upstreamTakes)
	w.Write([]byte("answer"))             //nolint:errcheck // Envoy tells
	http.NewResponseController(w).Flush() //nolint:errcheck // as that
	w.Header().Set("Grpc-Status", status)
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
	up := httptest.NewUnstartedServer(http.HandlerFunc(upstream))
	up.Config.Protocols = &http.Protocols{}
	up.Config.Protocols.SetHTTP1(true)
	up.Config.Protocols.SetUnencryptedHTTP2(true)
	up.Start()
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
	e.book.SetTargets([]string{"/ok", "/error", "/timeout", "/refused", "/reset", "/denied", "/held", "/tagged", "/none", "/grpc/failed", "/grpc/unavailable", "/grpc/ok", "/refuses", "/marked", "/grpc/exhausted"})
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
			if o.Reporter != "127.0.0.1\x00envoy-1" || o.StartedKnown || o.End.Sub(o.Start)%time.Second != 0 || o.End.After(time.Now()) {
				e.t.Errorf("of %s: %+v", target, o)
			}
			merge(&sum, &o.Row)
		}
		return sum.OK+sum.Errors >= n
	})
	return sum
}
