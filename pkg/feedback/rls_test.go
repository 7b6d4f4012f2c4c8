package feedback

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// rls is a connection to a rls that keeps what it is sent.
type rls struct {
	grpc.ClientConnInterface

	mu sync.Mutex
	rlsState
}

type rlsState struct {
	open    error // of the next streams
	ends    error // of an open stream
	stuck   bool  // takes nothing
	mute    bool  // does not answer
	dropped uint64
	lasts   int // reports that a stream takes before it ends; 0: any
	opened  []time.Time
	reports []*feedbackv1.Report
	closed  int
}

// state is a copy.
func (r *rls) state() rlsState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rlsState
}

func (r *rls) change(f func(*rlsState)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.rlsState)
}

func (r *rls) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	r.change(func(s *rlsState) { s.opened = append(s.opened, now()) })
	if method != feedbackv1.FeedbackService_StreamLatency_FullMethodName {
		return nil, errors.New(method)
	}
	return &rlsStream{rls: r, ctx: ctx}, r.state().open
}

type rlsStream struct {
	grpc.ClientStream

	rls   *rls
	ctx   context.Context
	taken int
}

// over says whether the stream has taken all that it takes.
func (s *rlsStream) over() bool {
	lasts := s.rls.state().lasts
	return lasts > 0 && s.taken >= lasts
}

func (s *rlsStream) SendMsg(m any) error {
	if s.rls.state().stuck {
		<-s.ctx.Done()
	}
	if s.ctx.Err() != nil || s.rls.state().ends != nil || s.over() {
		return io.EOF
	}
	s.taken++
	s.rls.change(func(r *rlsState) {
		r.reports = append(r.reports, m.(*feedbackv1.StreamLatencyRequest).GetReport()) //nolint:errcheck // of this method
	})
	return nil
}

func (s *rlsStream) CloseSend() error { return nil }

func (s *rlsStream) RecvMsg(m any) error {
	s.rls.change(func(r *rlsState) { r.closed++ })
	if s.rls.state().mute {
		<-s.ctx.Done()
	}
	if s.over() {
		return status.Error(codes.NotFound, "no adaptive rule has the target")
	}
	now := s.rls.state()
	answer := m.(*feedbackv1.StreamLatencyResponse) //nolint:errcheck // of this method
	answer.Dropped, answer.Accepted = now.dropped, uint64(len(now.reports))-now.dropped
	return errors.Join(s.ctx.Err(), now.ends)
}

// running is a client in a bubble.
type running struct {
	*Client

	rls  *rls
	errs []error
	end  func() time.Duration // ends Run, and tells how long it took
}

func run(t *testing.T) *running {
	t.Helper()
	r := &running{rls: &rls{}}
	r.Client = client(t, r.rls, Options{OnError: func(err error) {
		r.rls.change(func(*rlsState) { r.errs = append(r.errs, err) })
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	synctest.Wait()
	r.end = func() time.Duration {
		start := now()
		cancel()
		<-done
		return now().Sub(start)
	}
	return r
}

// told is what OnError was told, while Run goes on.
func (r *running) told() (errs []error) {
	r.rls.change(func(*rlsState) { errs = slices.Clone(r.errs) })
	return errs
}

func (r *running) call() { r.Client.end(r.begin(), served) }

// calls are the counts of all reports that rls has.
func (r *running) calls() []uint64 {
	var ok []uint64
	for _, report := range r.rls.state().reports {
		ok = append(ok, report.GetOk())
	}
	return ok
}
