package feedback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"
)

// reads sends the body, and has an answer or an error of its own then.
func reads(own error) trip {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(30 * time.Millisecond)
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		if own != nil {
			return nil, own
		}
		return &http.Response{StatusCode: http.StatusOK, Request: req}, nil
	}
}

// TestUnsent: what fails at the caller says nothing of the service, and what is
// left of the service's faults does.
func TestUnsent(t *testing.T) {
	t.Parallel()
	gone := errors.New("my file is gone")
	post := func(body io.Reader, promised int64) func(*http.Request) {
		return func(req *http.Request) { req.Body, req.ContentLength = io.NopCloser(body), promised }
	}
	header := func(name, value string) func(*http.Request) {
		return func(req *http.Request) { req.Header[name] = []string{"good", value} }
	}
	refuse := fails(errors.New("no request"))
	tests := []struct {
		name   string
		change func(*http.Request)
		next   trip
		want   seen
		panics bool
	}{
		{name: "the body fails", change: post(iotest.ErrReader(gone), -1), next: reads(nil)},
		{name: "the body fails at its end", change: post(iotest.DataErrReader(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(gone))), -1), next: reads(nil)},
		{name: "a short body", change: post(strings.NewReader("ab"), 3), next: reads(syscall.ECONNRESET)},
		{name: "a long body", change: post(strings.NewReader("abcd"), 3), next: reads(syscall.ECONNRESET)},
		{name: "a long body that goes on", change: post(io.MultiReader(strings.NewReader("abcd"), strings.NewReader("e")), 3), next: func(req *http.Request) (*http.Response, error) {
			req.Body.Read(make([]byte, 4)) //nolint:errcheck // has four
			return nil, syscall.ECONNRESET
		}},
		{name: "a good body", change: post(strings.NewReader("abc"), 3), next: reads(nil), want: one(served, 0.03)},
		{name: "a good body, and a fault", change: post(strings.NewReader("abc"), 3), next: reads(syscall.ECONNRESET), want: one(severed, 0)},
		{name: "a good body of no promised length, and a fault", change: post(strings.NewReader("abc"), 0), next: reads(syscall.ECONNRESET), want: one(severed, 0)},
		{name: "an answer before the body fails", change: post(iotest.ErrReader(gone), -1), next: func(req *http.Request) (*http.Response, error) {
			req.Body.Read(nil) //nolint:errcheck // as an upload that is under way
			return &http.Response{StatusCode: http.StatusRequestEntityTooLarge}, nil
		}, want: one(served, 0)},
		{name: "a fault that closes the body", change: post(iotest.ErrReader(gone), -1), next: func(req *http.Request) (*http.Response, error) {
			req.Body.Close()   //nolint:errcheck // has nothing to say
			req.Body.Read(nil) //nolint:errcheck // as an upload that is under way
			return nil, syscall.ECONNRESET
		}, want: one(severed, 0)},
		{name: "a deadline, which ends the body, too", change: post(iotest.ErrReader(gone), -1), next: func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			_, err := req.Body.Read(nil)
			return nil, err
		}, want: one(failed, 60)},
		{name: "no URL", change: func(req *http.Request) { req.URL = nil }, next: refuse},
		{name: "no host", change: func(req *http.Request) { req.URL.Host = "" }, next: refuse},
		{name: "no header", change: func(req *http.Request) { req.Header = nil }, next: refuse},
		{name: "a method", change: func(req *http.Request) { req.Method = "GET /" }, next: refuse},
		{name: "the usual method", change: func(req *http.Request) { req.Method = "" }, next: refuse, want: one(severed, 0)},
		{name: "a header's name", change: header("Bad Name", "x"), next: refuse},
		{name: "a header without a name", change: header("", "x"), next: refuse},
		{name: "a header's value", change: header("X-Name", "a\r\nb"), next: refuse},
		{name: "a header's value that ends", change: header("X-Name", "a\x7f"), next: refuse},
		{name: "a good header", change: header("X-Name_09.~z", "a\tb é"), next: refuse, want: one(severed, 0)},
		{name: "neither an answer nor an error", next: func(*http.Request) (*http.Response, error) { return nil, nil }}, //nolint:nilnil // what is tested
		{name: "a panic", next: func(*http.Request) (*http.Response, error) { panic("a panic") }, panics: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://search/", http.NoBody)
				if tt.change != nil {
					tt.change(req)
				}
				func() {
					defer func() {
						if fault := recover(); (fault != nil) != tt.panics {
							t.Errorf("panics with %v", fault)
						}
					}()
					resp, _ := c.RoundTripper(tt.next).RoundTrip(req) //nolint:bodyclose // has none
					if resp != nil && resp.Request != nil && resp.Request != req {
						t.Error("the answer is to another request")
					}
				}()
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// passed is a context that has not noticed its deadline.
type passed struct{ context.Context }

func (passed) Deadline() (time.Time, bool) { return now(), true }

func TestPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		for _, row := range []struct {
			ctx  context.Context //nolint:containedctx // what is tested
			want bool
		}{{t.Context(), false}, {ctx, false}, {passed{t.Context()}, true}} {
			if got := spent(row.ctx); got != row.want {
				t.Errorf("%v: %v, want %v", row.ctx, got, row.want)
			}
		}
	})
}

// TestSpent: a call that comes too late to be sent is passed on, and no sample.
func TestSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spent, cancel := context.WithTimeout(t.Context(), -1)
		defer cancel()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{spent, gone} {
			c := client(t, nil, Options{Timeout: 1})
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://search/", http.NoBody)
			if _, err := c.RoundTripper(trip(hangs)).RoundTrip(req); !errors.Is(err, ctx.Err()) { //nolint:bodyclose // has none
				t.Errorf("HTTP: %v, want %v", err, ctx.Err())
			}
			want := status.FromContextError(ctx.Err()).Err() // as gRPC has it
			if err := c.UnaryClientInterceptor()(ctx, "/s/m", nil, nil, nil, ends); !errors.Is(err, want) {
				t.Errorf("gRPC: %v, want %v", err, want)
			}
			if _, err := c.StreamClientInterceptor()(ctx, nil, nil, "/s/m", (&script{refused: want}).open); !errors.Is(err, want) {
				t.Errorf("a stream: %v, want %v", err, want)
			}
			if diff := cmp.Diff(seen{}, seenIn(c.take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

// TestUploads goes over a connection: it is net/http that reads, and refuses.
func TestUploads(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body) //nolint:errcheck // some break off
		if req.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	for _, row := range []struct {
		name, path string
		body       io.Reader
		length     int64
		header     string
		want       seen
	}{
		{name: "fails", body: iotest.ErrReader(errors.New("my file is gone")), length: -1},
		{name: "short", body: strings.NewReader("ab"), length: 3},
		{name: "long", body: strings.NewReader("abcd"), length: 3},
		{name: "header", body: strings.NewReader("abc"), length: 3, header: "a\nb"},
		{name: "good", body: strings.NewReader("abc"), length: 3, want: seen{Started: 1, OK: 1}},
		{name: "aborted", path: "/abort", body: strings.NewReader("abc"), length: 3, want: seen{Started: 1, Errors: 1}},
	} {
		c := client(t, nil, Options{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+row.path, io.NopCloser(row.body))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = row.length
		req.Header.Set("X-Name", row.header)
		if resp, err := c.RoundTripper(s.Client().Transport).RoundTrip(req); err == nil {
			resp.Body.Close() //nolint:errcheck // says nothing
		}
		got := seenIn(c.take())
		got.Latencies = nil
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}
