package feedback

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// Run reports what is observed from now on, once an interval, until ctx ends; then
// it sends the last, shorter window and returns, within two seconds. A report that
// cannot be sent is lost, since rls steers by the last seconds only: nothing waits
// for a rls that is away.
func (c *Client) Run(ctx context.Context) {
	s := &sender{ctx: context.WithoutCancel(ctx), rls: c.rls, interval: c.options.Interval, onError: c.options.OnError}
	defer s.close()
	w := window{start: now()}
	// Numbers go on rising when the process starts again.
	w.sequence = uint64(max(0, w.start.UnixMicro()))
	c.take() // belongs to no window
	tick := time.NewTicker(c.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.send(w.next(c.take()))
			return
		case <-tick.C:
			s.send(w.next(c.take()))
		}
	}
}

// window is the window of the next report.
type window struct {
	start    time.Time
	sequence uint64
}

// next completes a report of what was counted until now.
func (w *window) next(r *feedbackv1.Report) *feedbackv1.Report {
	end := now()
	w.sequence++
	r.Sequence = w.sequence
	r.WindowStart = timestamppb.New(end.Add(w.start.Sub(end))) // as long as it was, should the wall clock have been set
	r.WindowEnd = timestamppb.New(end)
	w.start = end
	return r
}
