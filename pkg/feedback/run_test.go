package feedback

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

	rls *rls
	ctx context.Context
}

func (s *rlsStream) SendMsg(m any) error {
	if s.rls.state().stuck {
		<-s.ctx.Done()
	}
	if s.ctx.Err() != nil || s.rls.state().ends != nil {
		return io.EOF
	}
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
	r.Client = client(t, r.rls, Options{OnError: func(err error) { r.errs = append(r.errs, err) }})
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

func (r *running) call() { r.Client.end(r.begin(), served) }

// calls are the counts of all reports that rls has.
func (r *running) calls() []uint64 {
	var ok []uint64
	for _, report := range r.rls.state().reports {
		ok = append(ok, report.GetOk())
	}
	return ok
}

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		begin := now()
		r.call()
		r.call()
		time.Sleep(1500 * time.Millisecond) // past the first report
		r.call()
		time.Sleep(time.Second) // past the second
		r.call()
		took := r.end()
		var got []*feedbackv1.Report
		rls := r.rls.state()
		for i, report := range rls.reports {
			if want := uint64(begin.UnixMicro()) + uint64(i) + 1; report.GetSequence() != want {
				t.Errorf("report %d has number %d, want %d", i, report.GetSequence(), want)
			}
			got = append(got, &feedbackv1.Report{WindowStart: report.GetWindowStart(), WindowEnd: report.GetWindowEnd(), Ok: report.GetOk()})
		}
		for i, want := range []struct {
			start, end time.Duration
			ok         uint64
		}{{0, time.Second, 2}, {time.Second, 2 * time.Second, 1}, {2 * time.Second, 2500 * time.Millisecond, 1}} {
			if i >= len(got) || got[i].GetOk() != want.ok || !got[i].GetWindowStart().AsTime().Equal(begin.Add(want.start)) ||
				!got[i].GetWindowEnd().AsTime().Equal(begin.Add(want.end)) {
				t.Errorf("report %d is of %v, want %+v", i, got, want)
			}
		}
		if len(got) != 3 || len(rls.opened) != 1 || rls.closed != 1 || took != 0 || len(r.errs) > 0 {
			t.Errorf("%d reports in %d streams, %d closed, ended in %v with %v", len(got), len(rls.opened), rls.closed, took, r.errs)
		}
		if r := rls.reports[0]; r.GetTarget() != "search" || r.GetReporter() != "me" || len(r.GetHistogram().GetBuckets()) != 1 {
			t.Errorf("reports %v", r)
		}
	})
}

// TestBeforeRun: what nobody reported belongs to no window.
func TestBeforeRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &running{rls: &rls{}}
		r.Client = client(t, r.rls, Options{Interval: 100 * time.Millisecond})
		r.call()
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		r.Run(ctx)
		if diff := cmp.Diff([]uint64{0, 0, 0}, r.calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAway: while rls is away its reports are lost, the tries become rare, and
// what comes after is of the last interval alone.
func TestAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		time.Sleep(1500 * time.Millisecond)
		r.rls.change(func(s *rlsState) {
			s.ends, s.open = status.Error(codes.PermissionDenied, "not allowed"), status.Error(codes.Unavailable, "away")
		})
		for range 600 {
			r.call()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		opened := r.rls.state().opened
		tries := len(opened)
		if tries < 20 || tries > 50 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		var gaps []time.Duration
		for i := 2; i < tries; i++ {
			gaps = append(gaps, opened[i].Sub(opened[i-1]))
		}
		if gaps[0] > 4*time.Second || gaps[len(gaps)-1] < 15*time.Second || gaps[len(gaps)-1] > 31*time.Second {
			t.Errorf("gaps between tries: %v", gaps)
		}
		if diff := cmp.Diff([]codes.Code{codes.PermissionDenied, codes.Unavailable}, []codes.Code{status.Code(r.errs[0]), status.Code(r.errs[1])}); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
		r.rls.change(func(s *rlsState) { s.ends, s.open, s.reports = nil, nil, nil })
		for range 60 {
			r.call()
			time.Sleep(time.Second)
		}
		calls := r.calls()
		if len(calls) < 28 {
			t.Fatalf("%d reports in the minute after", len(calls))
		}
		for _, n := range calls {
			if n != 1 {
				t.Fatalf("reports of %v calls, want 1 each", calls)
			}
		}
		before := len(r.rls.state().opened)
		r.rls.change(func(s *rlsState) { s.ends = io.ErrUnexpectedEOF }) // once more, after a good time: the wait is short again
		time.Sleep(2 * time.Second)
		r.rls.change(func(s *rlsState) { s.ends = nil })
		time.Sleep(3 * time.Second)
		if len(r.rls.state().opened) == before {
			t.Error("no try within five seconds")
		}
		r.end()
	})
}

// TestRefused: a rls that ends each stream after its first report is asked ever
// more rarely.
func TestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		time.Sleep(500 * time.Millisecond) // between two reports
		for range 600 {
			r.rls.change(func(s *rlsState) { s.ends = nil })
			taken := len(r.rls.state().reports)
			time.Sleep(time.Second)
			if len(r.rls.state().reports) > taken {
				r.rls.change(func(s *rlsState) { s.ends = status.Error(codes.PermissionDenied, "not allowed") })
				time.Sleep(time.Second)
			}
		}
		if tries := len(r.rls.state().opened); tries < 20 || tries > 60 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		r.end()
	})
}

// TestStuck: a rls that takes nothing is left after a second, and holds up neither
// calls nor the end.
func TestStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.rls.change(func(s *rlsState) { s.stuck = true })
		time.Sleep(1500 * time.Millisecond)
		r.call() // while a report is being sent
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.errs) < 2 || len(r.errs) > 10 {
			t.Errorf("%d errors: %v", len(r.errs), r.errs)
		}
		if took := r.end(); took > 2*time.Second {
			t.Errorf("ended in %v", took)
		}
	})
}

// TestMuteAtTheEnd: rls takes the last report and does not answer.
func TestMuteAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.rls.change(func(s *rlsState) { s.mute = true })
		time.Sleep(1500 * time.Millisecond)
		if took := r.end(); took != time.Second || len(r.rls.state().reports) != 2 || len(r.errs) != 1 {
			t.Errorf("ended in %v with %v, %d reports", took, r.errs, len(r.rls.state().reports))
		}
	})
}

// TestDropped: rls took the reports in vain, and says so at the end.
func TestDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.rls.change(func(s *rlsState) { s.dropped = 2 })
		time.Sleep(2500 * time.Millisecond)
		r.end()
		if len(r.errs) != 1 || !strings.HasPrefix(r.errs[0].Error(), "feedback: rls dropped 2 of 3 reports: ") {
			t.Errorf("told %v", r.errs)
		}
	})
}

// TestSilent: errors may be nobody's concern.
func TestSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, &rls{rlsState: rlsState{open: errors.New("away")}}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.Run(ctx)
	})
}
