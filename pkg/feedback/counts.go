package feedback

import (
	"context"
	"sync"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// outcome is what became of a call.
type outcome int

const (
	skipped outcome = iota + 1 // no sample
	served
	failed  // an error, and its latency
	severed // an error that says nothing of the pace
)

// counts are of one window.
type counts struct {
	mu       sync.Mutex
	inFlight uint64
	// A call that turns out to be none is taken back. It may have begun in an
	// earlier window: below 0 is what later windows still have to take back.
	started    int64
	ok, errors uint64
	buckets    [adaptive.LastBucket + 1]uint64
}

// begin counts a call and returns when it began.
func (c *Client) begin() time.Time {
	c.counts.mu.Lock()
	c.counts.inFlight++
	c.counts.started++
	c.counts.mu.Unlock()
	return now()
}

// end counts what became of a call that began, or was last waited for, at start.
func (c *Client) end(start time.Time, o outcome) {
	bucket := adaptive.Bucket(now().Sub(start).Seconds())
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	c.counts.inFlight--
	switch o {
	case skipped:
		c.counts.started--
	case served:
		c.counts.ok++
		c.counts.buckets[bucket]++
	case failed:
		c.counts.errors++
		c.counts.buckets[bucket]++
	case severed:
		c.counts.errors++
	}
}

// spent says whether a call comes too late. On a busy machine a context may end a
// while after its deadline.
func spent(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !now().Before(deadline)
}

// left is the outcome of a call whose caller went without an answer.
func (c *Client) left(start time.Time) outcome {
	if c.options.Timeout > 0 && now().Sub(start) >= c.options.Timeout {
		return failed
	}
	return skipped
}

// take empties the counts into a report, which lacks its window and number.
func (c *Client) take() *feedbackv1.Report {
	var buckets [adaptive.LastBucket + 1]uint64
	c.counts.mu.Lock()
	r := &feedbackv1.Report{
		Target: c.options.Target, Reporter: c.options.Reporter,
		Started: uint64(max(0, c.counts.started)), Ok: c.counts.ok, Errors: c.counts.errors, InFlight: c.counts.inFlight,
	}
	c.counts.started = min(0, c.counts.started)
	c.counts.ok, c.counts.errors = 0, 0
	buckets, c.counts.buckets = c.counts.buckets, buckets
	c.counts.mu.Unlock()
	if h := histogram(&buckets); h != nil {
		r.Latency = &feedbackv1.Report_Histogram{Histogram: h}
	}
	return r
}

// histogram is nil without samples.
func histogram(buckets *[adaptive.LastBucket + 1]uint64) *feedbackv1.Histogram {
	var all []*feedbackv1.Bucket
	for i, n := range buckets {
		if n > 0 {
			all = append(all, &feedbackv1.Bucket{Index: uint32(i), Count: n})
		}
	}
	if all == nil {
		return nil
	}
	return &feedbackv1.Histogram{Buckets: all}
}
