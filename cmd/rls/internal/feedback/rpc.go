package feedback

import (
	"context"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// ReportLatency implements feedbackv1.FeedbackServiceServer.
func (s *Service) ReportLatency(ctx context.Context, q *feedbackv1.ReportLatencyRequest) (answer *feedbackv1.ReportLatencyResponse, err error) {
	w, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	err = s.safely(func() error {
		outcome, err := s.book(w, q.GetReport())
		if outcome == UnknownTarget {
			err = s.notFound(q.GetReport().GetTarget())
		}
		answer = &feedbackv1.ReportLatencyResponse{Dropped: outcome.words()}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// StreamLatency implements feedbackv1.FeedbackServiceServer.
func (s *Service) StreamLatency(stream feedbackv1.FeedbackService_StreamLatencyServer) error {
	w, err := s.begin(stream.Context())
	if err != nil {
		return err
	}
	r := reading{from: w}
	err = s.until(func() error { return s.readReports(&r, stream) })
	if err != nil {
		return err
	}
	return stream.SendAndClose(&r.answer)
}

// longInVain is for how long a stream may go on of which nothing counts. Its
// reporter would else not hear of it.
const longInVain = 2 * time.Second

// reading is one stream of reports.
type reading struct {
	from   who
	answer feedbackv1.StreamLatencyResponse
	since  time.Time // when the first came of those that did not count; zero: the last one did
}

func (s *Service) readReports(r *reading, stream feedbackv1.FeedbackService_StreamLatencyServer) error {
	for n := 1; ; n++ {
		q, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		outcome, err := s.book(r.from, q.GetReport())
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "the stream's report number %d: %s", n, status.Convert(err).Message())
		}
		if r.inVain(outcome, s.config.Book.now()) {
			return s.vain(outcome, q.GetReport().GetTarget())
		}
	}
}

// inVain counts a report and says whether none has counted for long.
func (r *reading) inVain(outcome Outcome, now time.Time) bool {
	if outcome == Accepted {
		r.answer.Accepted++
		r.since = time.Time{}
		return false
	}
	r.answer.Dropped++
	if r.since.IsZero() {
		r.since = now
	}
	return now.Sub(r.since) >= longInVain
}

// vain is how a stream ends whose reports do not count.
func (s *Service) vain(last Outcome, target string) error {
	if last == UnknownTarget {
		return s.notFound(target)
	}
	return status.Errorf(codes.FailedPrecondition, "no report of this stream has counted for %v; the last one: %s", longInVain, last.words())
}

// GetLimits implements feedbackv1.FeedbackServiceServer.
func (s *Service) GetLimits(ctx context.Context, _ *feedbackv1.GetLimitsRequest) (*feedbackv1.GetLimitsResponse, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.config.Limits(ctx)
}

// book checks a report and books it. The error is a gRPC status.
func (s *Service) book(w who, q *feedbackv1.Report) (Outcome, error) {
	b := s.config.Book
	r, err := check(q, w, b.now())
	if err != nil {
		b.counts.reports[Malformed].Add(1)
		return Malformed, status.Error(codes.InvalidArgument, err.Error())
	}
	outcome := b.add(r)
	b.counts.reports[outcome].Add(1)
	if outcome == UnknownTarget {
		s.warnUnknown(r.target, w)
	}
	return outcome, nil
}

// warnUnknown names one target that no rule has: a faulty configuration makes many
// reports, and the counters cannot say which it is.
func (s *Service) warnUnknown(target string, from who) {
	s.unknown.once(s.config.Book.now(), func() {
		known, _ := s.fewKnown()
		s.config.Log.Warn("report about a target that no adaptive rule has",
			zap.String("target", clip(target)), zap.String("from", from.text()), zap.Strings("known", known))
	})
}

// fewTargets is how many are named to somebody who asked for another.
const fewTargets = 10

func (s *Service) fewKnown() (known []string, more string) {
	known = s.config.Book.Targets()
	if len(known) > fewTargets {
		return known[:fewTargets], " and others"
	}
	return known, ""
}

func (s *Service) notFound(target string) error {
	known, more := s.fewKnown()
	return status.Errorf(codes.NotFound, "no adaptive rule has the target %q: report about one of %q%s, or set adaptive.target of a rule to it", target, known, more)
}
