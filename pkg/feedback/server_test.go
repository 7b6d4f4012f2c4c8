package feedback

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMiddleware(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * time.Millisecond)
			w.WriteHeader(code)
		}
	}
	wait := func(w http.ResponseWriter, req *http.Request) {
		<-req.Context().Done()
		w.WriteHeader(http.StatusOK)
	}
	upload := func(w http.ResponseWriter, req *http.Request) {
		time.Sleep(30 * time.Millisecond)
		io.Copy(io.Discard, req.Body) //nolint:errcheck // some fail
		w.WriteHeader(http.StatusInternalServerError)
	}
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		deadline time.Duration // of the request; 0 = none, -1 = it has passed
		leave    time.Duration // when the client goes; 0 = never
		timeout  time.Duration
		body     io.Reader
		// The connection may be taken over.
		hijackable bool
		want       seen
	}{
		{name: "nothing written", handler: func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }, want: one(served, 1)},
		{name: "404", handler: status(404), want: one(served, 0.03)},
		{name: "500", handler: status(500), want: one(failed, 0.03)},
		{name: "a refusal of its own", handler: status(429)},
		{name: "a hint before the answer", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			status(503)(w, nil)
		}, want: one(failed, 0.03)},
		{name: "a long answer", handler: func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * time.Millisecond)
			io.WriteString(w, "first") //nolint:errcheck // a recorder
			time.Sleep(time.Hour)
			io.WriteString(w, "last") //nolint:errcheck // a recorder
		}, want: one(served, 0.03)},
		{name: "a copied answer", handler: func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * time.Millisecond)
			io.Copy(w, ending{time.Hour}) //nolint:errcheck // a recorder
		}, want: one(served, 0.03)},
		{name: "flushed", handler: func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * time.Millisecond)
			w.(http.Flusher).Flush() //nolint:errcheck // what is tested
			time.Sleep(time.Hour)
		}, want: one(served, 0.03)},
		{name: "taken over", handler: func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(30 * time.Millisecond)
			if _, _, err := w.(http.Hijacker).Hijack(); err != nil { //nolint:errcheck // what is tested
				panic(err)
			}
			time.Sleep(time.Hour)
		}, hijackable: true, want: one(served, 0.03)},
		{name: "not taken over", handler: func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := w.(http.Hijacker).Hijack(); !errors.Is(err, http.ErrNotSupported) { //nolint:errcheck // what is tested
				panic(err)
			}
			status(500)(w, nil)
		}, want: one(failed, 0.03)},
		{name: "a panic", handler: func(http.ResponseWriter, *http.Request) {
			time.Sleep(30 * time.Millisecond)
			panic(http.ErrAbortHandler)
		}, want: one(failed, 0.03)},
		{name: "the client breaks off", handler: upload, body: iotest.ErrReader(io.ErrUnexpectedEOF)},
		{name: "the client breaks off, and the handler panics", handler: func(w http.ResponseWriter, req *http.Request) {
			upload(w, req)
			panic(http.ErrAbortHandler)
		}, body: iotest.ErrReader(io.ErrUnexpectedEOF)},
		{name: "all is read, and not well", handler: upload, body: strings.NewReader("all"), want: one(failed, 0.03)},
		{name: "over before it came", handler: wait, deadline: -1},
		{name: "too late for the deadline", handler: wait, deadline: time.Second, want: one(failed, 1)},
		{name: "the client goes", handler: wait, leave: time.Second},
		{name: "the client runs out of patience", handler: wait, leave: time.Second, timeout: time.Second, want: one(failed, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, nil, Options{Timeout: tt.timeout})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.leave > 0 {
					time.AfterFunc(tt.leave, cancel)
				}
				if tt.deadline != 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				func() {
					defer func() { _ = recover() }()
					var w http.ResponseWriter = httptest.NewRecorder()
					if tt.hijackable {
						w = hijackable{w}
					}
					c.Middleware(tt.handler).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", tt.body))
				}()
				if diff := cmp.Diff(tt.want, seenIn(c.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// hijackable is a writer whose connection may be taken over.
type hijackable struct{ http.ResponseWriter }

func (hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }

// ending is a reader that has nothing but a late end.
type ending struct{ time.Duration }

func (r ending) Read([]byte) (int, error) {
	time.Sleep(r.Duration)
	return 0, io.EOF
}

// TestWriter goes over a connection: what a handler does to its writer reaches
// the client.
// TestSameRequest: the server cleans up after its own request, and its pattern is
// that of whoever wraps the middleware.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("body"))
	next := http.HandlerFunc(func(_ http.ResponseWriter, got *http.Request) {
		if got != req {
			t.Error("another request was handed on")
		}
	})
	client(t, nil, Options{}).Middleware(next).ServeHTTP(httptest.NewRecorder(), req)
}

func TestWriter(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	flushed := make(chan struct{})
	s := httptest.NewServer(c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/status":
			w.WriteHeader(http.StatusTeapot)
		case "/copy":
			io.Copy(w, strings.NewReader("copied")) //nolint:errcheck // the client looks
		case "/flush":
			io.WriteString(w, "begun, ") //nolint:errcheck // the client looks
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-flushed
			io.WriteString(w, "done") //nolint:errcheck // the client looks
		case "/hijack":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhijack") //nolint:errcheck // the client looks
			conn.Close()                                                               //nolint:errcheck // the client looks
		}
	})))
	defer s.Close()
	get := func(path string) (int, *bufio.Reader, io.Closer) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req) //nolint:bodyclose // by the caller
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, bufio.NewReader(resp.Body), resp.Body
	}
	for path, want := range map[string]string{"/status": "", "/copy": "copied", "/hijack": "hijack", "/flush": "begun, done"} {
		status, body, closer := get(path)
		if want := map[bool]int{true: http.StatusTeapot, false: http.StatusOK}[path == "/status"]; status != want {
			t.Errorf("%s: status %d", path, status)
		}
		if path == "/flush" {
			if _, err := body.Peek(len("begun")); err != nil {
				t.Error(err)
			}
			close(flushed)
		}
		got, err := io.ReadAll(body)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", path, err, diff)
		}
		closer.Close() //nolint:errcheck // was read
	}
	if got := seenIn(c.take()); got.OK != 4 || got.Started != 4 || got.InFlight != 0 {
		t.Errorf("%+v, want four requests", got)
	}
}
