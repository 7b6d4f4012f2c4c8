package feedback

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// What a report may hold.
const (
	maxName   = 256           // bytes of a target's or a reporter's name
	maxCount  = 1_000_000_000 // requests
	maxWindow = time.Minute
	maxAhead  = 2 * time.Second // of a reporter's clock, against ours

	defaultWindow = time.Second
)

// Requests that were started in earlier windows may end in this one, so more may
// end than start: many more where a stall ends. What is over ended is not of this
// world.
const (
	endedPerStarted = 100
	endedAnyway     = 10_000
)

// report is one that has been checked.
type report struct {
	target       string
	reporter     key
	sequence     uint64
	start, end   time.Time // on the reporter's clock
	row          adaptive.Row
	startedKnown bool
}

// check says what is wrong with a report, by field. The identity of a
// certificate, if there is one, is its reporter.
func check(q *feedbackv1.Report, from who, now time.Time) (*report, error) {
	if q == nil {
		return nil, errors.New("report is missing")
	}
	r := &report{
		target: q.GetTarget(), reporter: from.agent(q.GetReporter()), sequence: q.GetSequence(),
		row: adaptive.Row{Started: q.GetStarted(), OK: q.GetOk(), Errors: q.GetErrors()},
	}
	r.startedKnown = r.row.Started > 0 || r.row.OK == 0 && r.row.Errors == 0
	if err := cmp.Or(checkName("target", r.target), checkReporter(q, from), r.setWindow(q, now), checkCounts(q), r.setLatency(q)); err != nil {
		return nil, err
	}
	return r, nil
}

func checkReporter(q *feedbackv1.Report, from who) error {
	if from.identity != "" {
		return nil
	}
	return checkName("reporter", q.GetReporter())
}

func checkName(field, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%s has %d bytes, must have 1 to %d", field, len(name), maxName)
	}
	return nil
}

func (r *report) setWindow(q *feedbackv1.Report, now time.Time) error {
	for _, t := range []struct {
		field string
		at    *timestamppb.Timestamp
	}{{"window_start", q.GetWindowStart()}, {"window_end", q.GetWindowEnd()}} {
		if t.at != nil && !t.at.IsValid() {
			return fmt.Errorf("%s is no time: seconds %d, nanos %d", t.field, t.at.GetSeconds(), t.at.GetNanos())
		}
	}
	r.end = now
	if q.GetWindowEnd() != nil {
		r.end = q.GetWindowEnd().AsTime()
	}
	r.start = r.end.Add(-defaultWindow)
	if q.GetWindowStart() != nil {
		r.start = q.GetWindowStart().AsTime()
	}
	switch {
	case r.end.Sub(now) > maxAhead:
		return fmt.Errorf("window_end is %v ahead of the clock of rls, must be at most %v: set the clock, or leave the window out", r.end.Sub(now), maxAhead)
	case !r.start.Before(r.end):
		return fmt.Errorf("window_start is %v, must be before the end, %v", stamp(r.start), stamp(r.end))
	case r.end.Sub(r.start) > maxWindow:
		return fmt.Errorf("window_start is %v before the end, must be at most %v", r.end.Sub(r.start), maxWindow)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func checkCounts(q *feedbackv1.Report) error {
	for _, c := range []struct {
		field string
		n     uint64
	}{{"started", q.GetStarted()}, {"ok", q.GetOk()}, {"errors", q.GetErrors()}, {"in_flight", q.GetInFlight()}} {
		if c.n > maxCount {
			return fmt.Errorf("%s is %d, must be at most %d", c.field, c.n, maxCount)
		}
	}
	ended, most := q.GetOk()+q.GetErrors(), endedPerStarted*q.GetStarted()+endedAnyway
	if q.GetStarted() > 0 && ended > most {
		return fmt.Errorf("ok and errors are %d together, must be at most %d where started is %d", ended, most, q.GetStarted())
	}
	return nil
}

func (r *report) setLatency(q *feedbackv1.Report) error {
	ended := r.row.OK + r.row.Errors
	switch l := q.GetLatency().(type) {
	case *feedbackv1.Report_Quantiles:
		return r.setQuantiles(l.Quantiles, ended)
	case *feedbackv1.Report_Histogram:
		return r.setHistogram(l.Histogram, ended)
	default:
		return nil
	}
}

func (r *report) setQuantiles(q *feedbackv1.Quantiles, ended uint64) error {
	for _, d := range []struct {
		field string
		d     *durationpb.Duration
	}{{"quantiles.p50", q.GetP50()}, {"quantiles.p99", q.GetP99()}} {
		switch {
		case d.d == nil:
			return fmt.Errorf("%s is missing, must be more than 0s", d.field)
		case !d.d.IsValid():
			return fmt.Errorf("%s is no duration: seconds %d, nanos %d", d.field, d.d.GetSeconds(), d.d.GetNanos())
		case d.d.GetSeconds() < 0 || d.d.GetNanos() < 0 || d.d.GetSeconds() == 0 && d.d.GetNanos() == 0:
			return fmt.Errorf("%s is %v, must be more than 0s", d.field, d.d.AsDuration())
		}
	}
	p50, p99 := q.GetP50().AsDuration(), q.GetP99().AsDuration()
	switch {
	case p99 < p50:
		return fmt.Errorf("quantiles.p99 is %v, must be at least p50, %v", p99, p50)
	case ended == 0:
		return errors.New("ok and errors are 0, must be at least 1 together where there are quantiles")
	}
	r.row.Latency = adaptive.TwoPoint(ended, p50.Seconds(), p99.Seconds())
	return nil
}

func (r *report) setHistogram(h *feedbackv1.Histogram, ended uint64) error {
	var seen [adaptive.LastBucket + 1]bool
	for i, b := range h.GetBuckets() {
		switch {
		case b.GetIndex() > adaptive.LastBucket:
			return fmt.Errorf("histogram.buckets[%d].index is %d, must be at most %d", i, b.GetIndex(), adaptive.LastBucket)
		case seen[b.GetIndex()]:
			return fmt.Errorf("histogram.buckets[%d].index is %d once more, must be there once", i, b.GetIndex())
		case b.GetCount() < 1 || b.GetCount() > maxCount:
			return fmt.Errorf("histogram.buckets[%d].count is %d, must be 1 to %d", i, b.GetCount(), maxCount)
		}
		seen[b.GetIndex()] = true
		r.row.Latency.Add(int(b.GetIndex()), b.GetCount())
	}
	if n := r.row.Latency.Count(); n > ended {
		return fmt.Errorf("histogram has %d latencies, must have at most ok and errors together, %d", n, ended)
	}
	return nil
}
