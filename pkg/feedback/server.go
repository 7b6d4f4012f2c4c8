package feedback

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// Middleware observes the requests that next serves, by the time until it begins
// its answer. What waits before next, such as connections not yet accepted, is not
// seen. A client that goes is seen as going, be it out of patience: see
// Options.Timeout. One that breaks off its body is no sample, whatever next makes of
// that.
func (c *Client) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if spent(req.Context()) { // whose fault it is cannot be told
			next.ServeHTTP(rw, req)
			return
		}
		watched, body := watch(req)
		req.Body = watched.Body // of the same request: it is the server's, which cleans up after it
		w := &writer{ResponseWriter: rw, c: c, req: req, body: body, start: c.begin()}
		status := http.StatusInternalServerError // by a panic, be it http.ErrAbortHandler
		defer func() { w.begin(status) }()
		next.ServeHTTP(w, req)
		status = http.StatusOK
	})
}

// writer sees where an answer begins. It offers what the usual writers offer.
type writer struct {
	http.ResponseWriter

	c     *Client
	req   *http.Request
	body  *upload
	start time.Time
	begun bool
}

// begin counts the request, once.
func (w *writer) begin(status int) {
	if w.begun {
		return
	}
	w.begun = true
	ctx := w.req.Context()
	switch {
	case w.body.isBroken():
		w.c.end(w.start, skipped)
	case ctx.Err() != nil:
		w.c.end(w.start, w.c.over(ctx, w.start))
	default:
		w.c.end(w.start, answered(status, nil))
	}
}

func (w *writer) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols { // others come before the answer
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// ReadFrom lets the system copy a file.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	return io.Copy(w.ResponseWriter, r)
}

func (w *writer) Flush() {
	w.begin(http.StatusOK)
	http.NewResponseController(w.ResponseWriter).Flush() //nolint:errcheck // http.Flusher returns none
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.begin(http.StatusSwitchingProtocols)
	}
	return conn, buffer, err
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
