package feedback

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trip is an http.RoundTripper.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answers has a header that Envoy's refusals carry when refused is set.
func answers(status int, refused bool) trip {
	return func(*http.Request) (*http.Response, error) {
		time.Sleep(30 * time.Millisecond)
		resp := &http.Response{StatusCode: status, Header: http.Header{}}
		if refused {
			resp.Header.Set("x-envoy-ratelimited", "true")
		}
		return resp, nil
	}
}

func fails(err error) trip {
	return func(*http.Request) (*http.Response, error) {
		time.Sleep(30 * time.Millisecond)
		return nil, err
	}
}

// hangs until the context ends, and may have its own words for it.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

func TestRoundTripper(t *testing.T) {
	t.Parallel()
	own := errors.New("the caller's own words")
	gone := func(after time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(after, func() { cancel(own) })
			return ctx, func() { cancel(nil) }
		}
	}
	late := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, time.Second, own)
	}
	tests := []struct {
		name    string
		next    trip
		context func(context.Context) (context.Context, context.CancelFunc)
		timeout time.Duration
		want    seen
	}{
		{name: "200", next: answers(200, false), want: one(served, 0.03)},
		{name: "304", next: answers(304, false), want: one(served, 0.03)},
		{name: "404", next: answers(404, false), want: one(served, 0.03)},
		{name: "499", next: answers(499, false), want: one(served, 0.03)},
		{name: "500", next: answers(500, false), want: one(failed, 0.03)},
		{name: "503", next: answers(503, false), want: one(failed, 0.03)},
		{name: "429", next: answers(429, false)},
		{name: "another status of a refusal by Envoy", next: answers(503, true)},
		{name: "the least status of a refusal by Envoy", next: answers(400, true)},
		{name: "a refusal that Envoy did not enforce", next: answers(200, true), want: one(served, 0.03)},
		{name: "a reset", next: fails(syscall.ECONNRESET), want: one(severed, 0)},
		{name: "no connection", next: fails(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), want: one(severed, 0)},
		{name: "a timeout of the transport", next: fails(&net.OpError{Op: "read", Err: context.DeadlineExceeded}), want: one(failed, 0.03)},
		{name: "a deadline", next: hangs, context: late, want: one(failed, 1)},
		{name: "the caller goes", next: hangs, context: gone(time.Hour)},
		{name: "the caller goes early", next: hangs, context: gone(time.Second - 1), timeout: time.Second},
		{name: "the caller runs out of patience", next: hangs, context: gone(time.Second), timeout: time.Second, want: one(failed, 1)},
		{name: "an answer after a long time", next: func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			return &http.Response{StatusCode: 200}, nil
		}, timeout: time.Second, want: one(served, 60)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{Timeout: tt.timeout})
				ctx := t.Context()
				if tt.context != nil {
					var cancel context.CancelFunc
					ctx, cancel = tt.context(ctx)
					defer cancel()
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://search/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.RoundTripper(tt.next).RoundTrip(req)
				if (resp == nil) == (err == nil) {
					t.Errorf("got %v and %v", resp, err)
				}
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestHTTP goes over a connection, with a client's own timeout, which is a deadline.
func TestHTTP(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/slow" {
			<-release
		}
	}))
	defer s.Close()
	defer close(release)
	c := client(t, nil, Options{})
	h := &http.Client{Transport: c.RoundTripper(s.Client().Transport), Timeout: 100 * time.Millisecond}
	defer h.CloseIdleConnections()
	get := func(path string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	}
	if err := get("/slow"); err == nil {
		t.Error("the slow answer came")
	}
	h.Timeout = 0
	if err := get("/"); err != nil {
		t.Error(err)
	}
	got := seenIn(c.take())
	if len(got.Latencies) == 0 {
		t.Error("no latencies")
	}
	got.Latencies = nil
	if diff := cmp.Diff(seen{Started: 2, OK: 1, Errors: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// idle is a transport that holds connections.
type idle struct {
	http.RoundTripper

	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestIdleConnections(t *testing.T) {
	t.Parallel()
	var next idle
	c := client(t, nil, Options{})
	(&http.Client{Transport: c.RoundTripper(&next)}).CloseIdleConnections()
	(&http.Client{Transport: c.RoundTripper(answers(200, false))}).CloseIdleConnections() // has none
	if next.closed != 1 {
		t.Errorf("closed %d times", next.closed)
	}
}

func TestDefaultTransport(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	if got, ok := c.RoundTripper(nil).(*transport); !ok || got.next != http.DefaultTransport {
		t.Errorf("observes %v", got)
	}
}
