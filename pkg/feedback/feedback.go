// Package feedback observes the calls to one service and reports how it fares to
// rls, so that an adaptive rule can follow it.
//
// A sample is a call that the service answered or failed. Its latency is the time
// from the request to the first of the answer, as in Envoy's access log. What is an
// error:
//   - HTTP: 5xx, a timeout, and any fault of the connection;
//   - gRPC: Unavailable, DeadlineExceeded, Internal, Unknown and DataLoss. Other
//     codes are answers.
//
// An error has a latency too, unless it is a fault of the connection or Unavailable,
// which say nothing of the service's pace. No sample is
//   - a refusal: 429, ResourceExhausted, and what Envoy marks with x-envoy-ratelimited;
//   - a call that its caller gave up; see Options.Timeout;
//   - a call that its caller could not make: its context had ended before, its body
//     could not be read, a header or a message is none that can be sent, credentials
//     are not to be had, or what was to send it panics.
//
// At the service's own side a handler that panics is an error, http.ErrAbortHandler
// included.
package feedback

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"google.golang.org/grpc"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

const (
	defaultInterval = time.Second
	// After 5 s without news rls takes it that there is none; the rest is for the way.
	maxInterval = 4 * time.Second
)

// Options say what is reported.
type Options struct {
	// Target is the service: the adaptive.target of a rule. Required.
	Target string
	// Reporter is who observes, another in each process. Empty: the host's name and
	// a random number. rls prefers the name in a client certificate.
	Reporter string
	// Interval is the time between two reports, at most 4 s, since rls takes 5 s
	// without one for silence. 0: 1 s, which is how often rls steps.
	Interval time.Duration
	// Timeout is after what time a caller that goes has run out of patience: the
	// call is an error. 0: a call whose caller goes is never a sample. Deadlines of
	// contexts count without it; an HTTP server sees none of its callers'.
	Timeout time.Duration
	// OnError, if any, is told why a stream of reports ended, or what of it was in
	// vain. A stream ends after two seconds in which no report counts, as where no rule
	// has the target. The next is tried after up to 30 s, and told of again. Run calls it.
	OnError func(error)
}

// Client observes and reports. Its methods may be called at the same time.
type Client struct {
	options Options
	rls     feedbackv1.FeedbackServiceClient
	epoch   time.Time // what streams count from
	counts  counts
}

// New makes a client that reports over conn, once Run is called.
func New(conn grpc.ClientConnInterface, o Options) (*Client, error) {
	if o.Target == "" {
		return nil, errors.New("feedback: a target is required")
	}
	if o.Interval < 0 || o.Interval > maxInterval {
		return nil, fmt.Errorf("feedback: the interval is %v, must be 0 to %v: rls takes 5s without a report for silence", o.Interval, maxInterval)
	}
	o.Interval = cmp.Or(o.Interval, defaultInterval)
	if o.Reporter == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("feedback: naming the reporter: %w", err)
		}
		o.Reporter = fmt.Sprintf("%s-%08x", host, rand.Uint32()) //nolint:gosec // to differ, not to hide
	}
	return &Client{options: o, rls: feedbackv1.NewFeedbackServiceClient(conn), epoch: now()}, nil
}

// now reads the wall and the monotonic clock.
func now() time.Time {
	return time.Now() //nolint:forbidigo // what an application uses has no clock handed to it
}
