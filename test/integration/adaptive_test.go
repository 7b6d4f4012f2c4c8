package integration

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/eb50146d/rls/pkg/feedback"
	"github.com/eb50146d/rls/test/proc"
)

// adaptiveExample are the shipped adaptive rules.
func adaptiveExample() string {
	return filepath.Join(programs.root, "config", "examples", "adaptive.yaml")
}

// TestAdaptiveAsShipped: Envoy's access log tells of what an adaptive rule admitted,
// and of nothing else.
func TestAdaptiveAsShipped(t *testing.T) {
	t.Parallel()
	r := startRLS(t, adaptiveExample())
	e := startEnvoy(t, "adaptive.yaml", r, upstream(t))
	admitted, refused := 0, 0
	for refused == 0 {
		switch resp := get(t, e, "/"); resp.StatusCode {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
	eventually(t, "the admitted requests are reported", func() bool {
		return metric(t, r, "rls_feedback_access_log_entries_total") >= float64(admitted)
	})
	if got := metric(t, r, "rls_feedback_access_log_entries_total"); got != float64(admitted) {
		t.Errorf("%v entries of %d admitted requests", got, admitted)
	}
	for _, reason := range []string{"denied", "unattributed", "unknown_target", "malformed"} {
		if got := metric(t, r, `rls_feedback_access_log_skipped_total{reason="`+reason+`"}`); got != 0 {
			t.Errorf("%v entries are passed over as %s", got, reason)
		}
	}
}

// TestDemoAdaptive runs make demo-adaptive's program, with short phases.
func TestDemoAdaptive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, err := proc.Build(t.Context(), programs.root, "./test/demo-adaptive", dir)
	if err != nil {
		t.Fatal(err)
	}
	plot := filepath.Join(dir, "plot.svg")
	demo, err := proc.Start(t.Context(), "demo-adaptive", program, "-phase", "1s", "-svg", plot)
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("the demonstration ended with %v:\n%s", err, demo.Output())
	}
	for _, want := range []string{"adaptive rule (", "static rule (", "Envoy's adaptive concurrency (", "before", "in time/s"} {
		if !strings.Contains(demo.Output(), want) {
			t.Errorf("no %q in:\n%s", want, demo.Output())
		}
	}
	if svg, err := os.ReadFile(plot); err != nil || !strings.HasSuffix(string(svg), "</svg>\n") {
		t.Errorf("the plot is %d bytes, %v", len(svg), err)
	}
}

// TestClientReports: an application that observes its own calls is a reporter.
func TestClientReports(t *testing.T) {
	t.Parallel()
	r := startRLS(t, adaptiveExample())
	called := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer called.Close()
	c, err := feedback.New(r.Conn(), feedback.Options{Target: "checkout-v2", OnError: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	observed := &http.Client{Transport: c.RoundTripper(called.Client().Transport)}
	eventually(t, "the reporter is heard", func() bool {
		for range 50 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, called.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := observed.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close() //nolint:errcheck // it is empty
		}
		return metric(t, r, `rls_adaptive_reporters{domain="edge",rule="checkout"}`) == 1
	})
	cancel()
	<-ended
	if got := metric(t, r, `rls_adaptive_latency_seconds{domain="edge",rule="checkout"}`); got <= 0 {
		t.Errorf("the latency is %v s", got)
	}
}

// TestMarkOfRefusals: what pkg/feedback goes by to tell a refusal from a fault of
// the service, where Envoy answers a gRPC call with UNAVAILABLE.
func TestMarkOfRefusals(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t, "http-ratelimit.yaml", startRLS(t, "testdata/limits"), upstream(t))
	conn, err := grpc.NewClient(proc.Loopback(e.Listener), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it can only say that it is closed
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", "k")
	const limit = 3 // of the rule per-key, at once
	for i := range limit + 1 {
		var trailer metadata.MD
		err := conn.Invoke(ctx, "/s/m", new(emptypb.Empty), new(emptypb.Empty), grpc.Trailer(&trailer))
		if marked := len(trailer["x-envoy-ratelimited"]) > 0; marked != (i == limit) {
			t.Errorf("call %d gets %v and the trailer %v", i+1, err, trailer)
		}
		if i == limit && status.Code(err) != codes.Unavailable {
			t.Errorf("the refusal is %v", err)
		}
	}
}
