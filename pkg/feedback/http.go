package feedback

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// RoundTripper observes the requests that go through next, by the time until the
// header of the answer. A nil next is http.DefaultTransport.
func (c *Client) RoundTripper(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{c: c, next: next}
}

type transport struct {
	c    *Client
	next http.RoundTripper
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if spent(req.Context()) { // nothing is sent
		return t.next.RoundTrip(req)
	}
	sent, body := watch(req)
	start := t.c.begin()
	o := skipped // by a panic
	defer func() { t.c.end(start, o) }()
	resp, err := t.next.RoundTrip(sent)
	switch {
	case err != nil && !body.isBroken() && !unsendable(req):
		o = t.c.fault(req.Context(), start, err)
	case err == nil && resp != nil:
		o = answered(resp.StatusCode, resp.Header)
		if resp.Request == sent {
			resp.Request = req
		}
	}
	return resp, err
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (t *transport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// answered is the outcome of an HTTP request with an answer.
func answered(status int, header http.Header) outcome {
	switch {
	case status == http.StatusTooManyRequests, status >= http.StatusBadRequest && len(header[rateLimited]) > 0:
		return skipped
	case status >= http.StatusInternalServerError:
		return failed
	default:
		return served
	}
}

// rateLimited is a header of Envoy's refusals, in the canonical form.
const rateLimited = "X-Envoy-Ratelimited"

// fault is the outcome of an HTTP request without an answer.
func (c *Client) fault(ctx context.Context, start time.Time, err error) outcome {
	if ctx.Err() != nil {
		return c.over(ctx, start)
	}
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		return failed
	}
	return severed
}

// over is the outcome of a call whose context ended before there was an answer.
func (c *Client) over(ctx context.Context, start time.Time) outcome {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed
	}
	return c.left(start)
}
