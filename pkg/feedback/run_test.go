package feedback

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

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

// TestInVain: that no report counts is told within seconds, and ever more rarely.
func TestInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.rls.change(func(s *rlsState) { s.lasts = 3 })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if errs := r.told(); len(errs) != 1 || status.Code(errs[0]) != codes.NotFound {
			t.Errorf("told %v in five seconds, want that the target was not found", errs)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(r.told()); n < 15 || n > 45 {
			t.Errorf("told %d times in ten minutes", n)
		}
		r.end()
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
