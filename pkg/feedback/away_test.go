package feedback

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
