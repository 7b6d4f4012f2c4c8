package feedback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

const (
	patience = time.Second      // of one step towards rls, which may be stuck
	maxWait  = 30 * time.Second // between two tries to open a stream
	// A stream that lasts so long was well. One whose caller may not report ends with
	// its first report, and one of which nothing counts after two seconds.
	well = 20 * time.Second
)

// sender keeps a stream of reports open.
type sender struct {
	ctx      context.Context // of the streams; it never ends
	rls      feedbackv1.FeedbackServiceClient
	interval time.Duration
	onError  func(error)

	stream grpc.ClientStreamingClient[feedbackv1.StreamLatencyRequest, feedbackv1.StreamLatencyResponse] // nil: none
	cancel context.CancelFunc                                                                            // ends the stream
	taken  int                                                                                           // reports that it took
	wait   int                                                                                           // intervals, after the last failure
	skip   int                                                                                           // of them, still to come
}

// send sends a report or loses it.
func (s *sender) send(r *feedbackv1.Report) {
	if s.skip > 0 {
		s.skip--
		return
	}
	if err := s.try(r); err != nil {
		s.fail(err)
		return
	}
	s.taken++
	if time.Duration(s.taken)*s.interval >= well {
		s.wait = 0
	}
}

func (s *sender) try(r *feedbackv1.Report) error {
	if s.stream == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	defer time.AfterFunc(patience, s.cancel).Stop()
	err := s.stream.Send(&feedbackv1.StreamLatencyRequest{Report: r})
	if errors.Is(err, io.EOF) { // the reason is in the answer
		return s.end()
	}
	return err
}

func (s *sender) open() error {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(s.ctx)
	defer time.AfterFunc(patience, s.cancel).Stop()
	var err error
	s.stream, err = s.rls.StreamLatency(ctx)
	return err
}

// end closes our side and returns why the stream ended, never nil.
func (s *sender) end() error {
	return cmp.Or(s.finish(), errors.New("feedback: rls ended the stream"))
}

// finish closes our side and lets rls read what was sent. The error says also that
// it was in vain.
func (s *sender) finish() error {
	answer, err := s.stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if dropped := answer.GetDropped(); dropped > 0 {
		return fmt.Errorf("feedback: rls dropped %d of %d reports: no adaptive rule has the target, or they came late or twice", dropped, dropped+answer.GetAccepted())
	}
	return nil
}

// fail gives the stream up and waits longer before the next, up to 30 s. The half
// of the wait is by chance, so that reporters do not return all at once.
func (s *sender) fail(err error) {
	s.cancel()
	s.stream, s.taken = nil, 0
	s.wait = min(2*s.wait+1, int(maxWait/s.interval))
	s.skip = s.wait/2 + rand.IntN(s.wait/2+1) //nolint:gosec // no secret
	if s.onError != nil {
		s.onError(err)
	}
}

// close ends the stream, if there is one.
func (s *sender) close() {
	if s.stream == nil {
		return
	}
	defer s.cancel()
	defer time.AfterFunc(patience, s.cancel).Stop()
	if err := s.finish(); err != nil && s.onError != nil {
		s.onError(err)
	}
}
