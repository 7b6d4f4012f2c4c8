package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/test/demo-adaptive/loop"
)

// TestClosedLoop has callers send half as much again as a service bears, which
// loses 60 % of its speed for a while. With the shipped adaptive rule and the
// shipped Envoy configuration the limit comes down and back, and most answers
// still come in time. With a limit that does not move they do not, nor with the
// adaptive rule when Envoy's access log does not reach rls.
//
// It does not run beside other tests, which would take the service's time.
func TestClosedLoop(t *testing.T) {
	t.Run("rides", func(t *testing.T) {
		for _, tt := range []struct {
			kind  loop.Kind
			holds bool
			warm  int // seconds that the limit may take to grow
		}{{loop.Adaptive, true, 20}, {loop.Static, false, 3}, {loop.Blind, false, 3}} {
			t.Run(tt.kind.String(), func(t *testing.T) {
				t.Parallel()
				r := drive(t, tt.kind, tt.warm)
				faults := r.faults()
				for again := 2; again > 0 && tt.holds && len(faults) > 0 && r.stalled(); again-- {
					t.Logf("the machine stalled, so once more; faults: %q", faults)
					r = drive(t, tt.kind, tt.warm)
					faults = r.faults()
				}
				if (len(faults) == 0) != tt.holds {
					t.Errorf("faults of the limit: %q, want none: %v", faults, tt.holds)
				}
				if slow := r.slow(); !tt.holds && slow.InTime > slow.Late {
					t.Errorf("%d answers in time, %d late: the service was not overloaded", slow.InTime, slow.Late)
				}
				if t.Failed() {
					t.Log(r)
				}
			})
		}
	})
}

// ride is a run through a drop of the service's speed.
type ride struct {
	drop, up   int // seconds after its start, in which the speed fell and rose
	down, back bool
	seconds    []loop.Second
}

// What the service bears, in requests a second, and what is asked of a limit.
const (
	service = 200 * time.Millisecond
	full    = 200.0
	slow    = loop.Slow * full

	grown  = 0.85 * full // higher than it starts
	low    = 1.5 * slow  // near what the slow service bears
	high   = 0.75 * full // back to where it was
	settle = 8           // seconds after the drop in which answers may be late
	hold   = 20          // seconds that the drop lasts
)

// drive takes as long as the limit needs, with bounds for limits that do not move.
func drive(t *testing.T, k loop.Kind, warm int) *ride {
	t.Helper()
	b, err := loop.Start(t.Context(), loop.Programs{
		Root: programs.root, RLS: programs.rls, Envoy: programs.envoy, Ports: &programs.ports,
	}, loop.Scene{Workers: 40, Service: service, Offered: 1.5 * full, Deadline: 2 * time.Second}, k, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var r ride
	second := func() int { return int(b.Elapsed() / time.Second) }
	until := func(seconds int, done func() bool) bool {
		for end := second() + seconds; !done(); {
			if second() >= end {
				return false
			}
			tick(t)
		}
		return true
	}
	until(warm, func() bool { return b.Limit() > grown })
	r.drop = second()
	b.Upstream.SetSpeed(loop.Slow)
	r.down = until(2*settle, func() bool { return b.Limit() < low })
	until(hold, func() bool { return second() >= r.drop+hold })
	r.up = second()
	b.Upstream.SetSpeed(1)
	r.back = until(60, func() bool { return b.Limit() > high })
	end := second()
	until(60, func() bool { r.seconds = b.Seconds(); return len(r.seconds) >= end })
	return &r
}

// slow is what callers got from the slow service, once a limit could know of it.
func (r *ride) slow() loop.Second { return loop.Sum(r.seconds[r.drop+settle : r.up]) }

// faults say what an adaptive rule should have done.
func (r *ride) faults() []string {
	var all []string
	fault := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	s := r.slow()
	fault(!r.down, "the limit did not come below %.0f when the service bore %.0f", low, slow)
	fault(!r.back, "the limit did not come above %.0f when the service bore %.0f", high, full)
	fault(s.LateShare() > 0.25, "%.0f %% of the answers of the slow service were late", 100*s.LateShare())
	if rate := float64(s.InTime) / float64(r.up-r.drop-settle); rate < slow/2 {
		fault(true, "%.0f answers a second in time of %.0f possible", rate, slow)
	}
	return all
}

// stalled says that the machine was too busy to tell how the limit does: even the
// callers were late by as long as the service takes for an answer, time and again.
func (r *ride) stalled() bool {
	n := 0
	for _, s := range r.seconds {
		if s.Lag > service {
			n++
		}
	}
	return n > len(r.seconds)/20
}

func (r *ride) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dropped after %d s, returned after %d s\n  s     lag  bears  offered  in time  late  refused  failed  limit\n", r.drop, r.up)
	for i, s := range r.seconds {
		fmt.Fprintf(&b, "%3d %5.0fms %6.0f %8d %8d %5d %8d %7d %6.0f  %s\n", i, 1000*s.Lag.Seconds(), s.Capacity, s.Offered, s.InTime, s.Late, s.Refused, s.Failed, s.Limit, s.Reason)
	}
	return b.String()
}
