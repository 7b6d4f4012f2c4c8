package feedback

import (
	"context"

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
	var answer feedbackv1.StreamLatencyResponse
	err = s.until(func() error { return s.readReports(w, stream, &answer) })
	if err != nil {
		return err
	}
	return stream.SendAndClose(&answer)
}

func (s *Service) readReports(w who, stream feedbackv1.FeedbackService_StreamLatencyServer, answer *feedbackv1.StreamLatencyResponse) error {
	for n := 1; ; n++ {
		q, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		outcome, err := s.book(w, q.GetReport())
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "the stream's report number %d: %s", n, status.Convert(err).Message())
		}
		if outcome == Accepted {
			answer.Accepted++
		} else {
			answer.Dropped++
		}
	}
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
