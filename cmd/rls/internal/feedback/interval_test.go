package feedback

import (
	"strings"
	"testing"
	"time"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// ended is an entry about target "a" of a request of 40 ms that ended some time
// after epoch, on Envoy's clock.
func endedAt(at time.Duration) *accesslogpb.HTTPAccessLogEntry {
	m := about(made(200, 0, 40, 40, nil), "a")
	m.CommonProperties.StartTime = timestamppb.New(epoch().Add(at - 40*time.Millisecond))
	return m
}

// stream is one access log, read by hand.
type stream struct {
	*accessLog
	w *world
}

func (w *world) stream(address string) *stream { return w.streamOf(who{address: address}) }

func (w *world) streamOf(from who) *stream { return &stream{newLog(w.Book, from), w} }

// send delivers a message at some time after epoch.
func (s *stream) send(at time.Duration, m *alspb.StreamAccessLogsMessage) {
	s.w.t.Helper()
	s.w.now = epoch().Add(at)
	s.Decode(encoded(s.w.t, m))
	s.book()
}

// second is what an Envoy saw of "a" in some seconds after epoch.
func second(reporter string, from, to, n int) seen {
	return seen{
		reporter, time.Duration(from) * time.Second, time.Duration(to) * time.Second, 0, uint64(n), 0, false,
		map[int]uint64{bucketOf(40 * time.Millisecond): uint64(n)},
	}
}

const tenth = 100 * time.Millisecond

// TestIntervals: entries count for the second in which their request ended, and
// that is taken when the delay of the stream has passed.
func TestIntervals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("192.0.2.1:5")
	s.send(10*tenth, message("envoy", endedAt(tenth), endedAt(9*tenth), endedAt(10*tenth)))
	s.send(19*tenth, message("", endedAt(10*tenth), endedAt(19*tenth)))
	w.now = epoch().Add(19875*tenth/1000 - 1)
	w.want("a") // a second of delay at first, and an eighth of the way to the 0.9 s that were seen
	w.now = epoch().Add(19875 * tenth / 1000)
	w.want("a", second("envoy", 0, 1, 2))
	w.want("a")
	w.now = epoch().Add(40 * tenth)
	w.want("a", second("envoy", 1, 2, 3))
}

// TestSlowestWorker: a second is complete when it is for every stream of an Envoy.
func TestSlowestWorker(t *testing.T) {
	t.Parallel()
	var p reporter
	second := epoch().Unix()
	for _, delay := range []time.Duration{tenth, 2 * time.Second, time.Second} {
		p.log(epoch(), second, delay, &adaptive.Row{OK: 1})
	}
	if o, ok := p.take(epoch().Add(3*time.Second - 1)); ok {
		t.Errorf("%+v, before all have told", o)
	}
	if o, _ := p.take(epoch().Add(3 * time.Second)); o.Row.OK != 3 {
		t.Errorf("%+v, want all", o)
	}
}

// TestLateEntries go to the next second that has not been closed.
func TestLateEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("192.0.2.1:5")
	s.send(10*tenth, message("envoy", endedAt(5*tenth), endedAt(10*tenth)))
	w.now = epoch().Add(20 * tenth)
	w.want("a", second("envoy", 0, 1, 1))
	s.send(21*tenth, message("", endedAt(6*tenth), endedAt(21*tenth))) // one of the second that has been taken
	w.now = epoch().Add(50 * tenth)
	w.want("a", second("envoy", 1, 3, 3))

	// What was held back for long is of four seconds ago at most.
	s.send(100*tenth, message("", endedAt(55*tenth), endedAt(100*tenth)))
	w.now = epoch().Add(200 * tenth)
	w.want("a", second("envoy", 6, 11, 2))
}

// TestSkew: the clock of Envoy may be anywhere, and may be set.
func TestSkew(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, skew := range map[string]time.Duration{"right": 0, "ahead": hour, "behind": -hour, "a little ahead": 3 * tenth} {
		w := newWorld(t, "a")
		s := w.stream("192.0.2.1:5")
		for i := range 3 {
			at := time.Duration(i+1) * time.Second
			s.send(at, message("envoy", endedAt(skew+at-9*tenth), endedAt(skew+at-5*tenth), endedAt(skew+at)))
		}
		w.now = epoch().Add(4 * time.Second)
		// Each message: two of the second before, and one that ended just now.
		w.want("a", second("envoy", 0, 3, 8))
		w.now = epoch().Add(9 * time.Second)
		w.want("a", second("envoy", 3, 4, 1))
		if t.Failed() {
			t.Fatalf("clock %s", name)
		}
	}
}

// TestClockSetBack: entries count when they can until the new difference is learned.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("192.0.2.1:5")
	s.send(time.Second, message("envoy", endedAt(time.Second)))
	at := 2 * time.Second
	for ; at < 70*time.Second; at += time.Second {
		s.send(at, message("", endedAt(at-time.Hour-9*tenth), endedAt(at-time.Hour)))
	}
	w.Take("a")
	w.now = epoch().Add(90 * time.Second)
	w.Take("a")
	s.send(90*time.Second, message("", endedAt(891*tenth-time.Hour), endedAt(90*time.Second-time.Hour)))
	w.now = epoch().Add(100 * time.Second)
	w.want("a", second("envoy", 89, 91, 2))
}

// TestClockSetBackWhileBusy: reports are as fresh as before three seconds later.
func TestClockSetBackWhileBusy(t *testing.T) {
	t.Parallel()
	const flush, set = 200 * time.Millisecond, 10 * time.Second
	for _, back := range []time.Duration{0, time.Second, 3 * time.Second, time.Hour, -time.Hour} {
		w := newWorld(t, "a")
		s := w.stream("192.0.2.1:5")
		for at := time.Duration(0); at < 30*time.Second; at += flush {
			clock := at
			if at >= set {
				clock -= back
			}
			s.send(at, message("envoy", endedAt(clock-flush*3/4), endedAt(clock-flush/2), endedAt(clock-flush/4)))
			if at%time.Second != 0 {
				continue
			}
			taken := w.Take("a")
			if at <= set+3*time.Second {
				continue
			}
			if len(taken) != 1 || w.now.Sub(taken[0].End) > time.Second || taken[0].Row.OK != 15 {
				t.Errorf("set back by %v: at %v %+v", back, at, taken)
			}
		}
	}
}

// TestOurClockSetBack: what was seen is not kept for a time that comes once more.
func TestOurClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("192.0.2.1:5")
	s.send(time.Hour-5*time.Second, message("envoy", endedAt(time.Hour-5*time.Second)))
	s.send(time.Hour, message("", endedAt(time.Hour)))
	tell := func() Outcome {
		r := w.told("envoy", 0, 0, time.Second)
		r.reporter = s.reporter
		return w.add(r)
	}
	tell()
	w.now = epoch()
	w.want("a", seen{
		"envoy", -time.Second, time.Hour, 0, 3, 1, false, map[int]uint64{100: 2, bucketOf(40 * time.Millisecond): 2},
	})
	s.send(time.Second, message("", endedAt(time.Second)))
	if got := tell(); got != Accepted {
		t.Errorf("%v, want it accepted", got)
	}
	if got := tell(); got != Repeat {
		t.Errorf("%v, want a repeat", got)
	}
	w.now = epoch().Add(5 * time.Second)
	w.want("a", seen{
		"envoy", 0, 2 * time.Second, 0, 2, 1, false, map[int]uint64{100: 2, bucketOf(40 * time.Millisecond): 1},
	})
}

// TestWorkers: the streams of one Envoy are one reporter, of whatever port.
func TestWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	one, two, other, nameless := w.stream("192.0.2.1:5"), w.stream("192.0.2.1:6"), w.stream("192.0.2.2:5"), w.stream("192.0.2.3:5")
	one.send(tenth, message("envoy", endedAt(tenth)))
	two.send(2*tenth, message("envoy", endedAt(tenth), endedAt(2*tenth)))
	other.send(2*tenth, message("envoy-2", endedAt(tenth)))
	nameless.send(2*tenth, message("", endedAt(tenth)))
	nameless.send(3*tenth, message("\x00"+strings.Repeat("é", 200), endedAt(3*tenth)))
	w.now = epoch().Add(2 * time.Second)
	w.want(
		"a", second("envoy", 0, 1, 3), second("envoy-2", 0, 1, 1), second("", 0, 1, 1), second("\x00"+strings.Repeat("é", 127), 0, 1, 1),
	)
}

// TestBounds: a stream that is never taken holds a few seconds and one sum.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("x")
	for i := range 1000 {
		at := time.Duration(i) * time.Second / 10
		s.send(at, message("", endedAt(at), endedAt(at-3*time.Second)))
		if n := len(w.target("a").reporters[key{"socket", ""}].open); n > 6 {
			t.Fatalf("%d open seconds", n)
		}
	}
	w.now = epoch().Add(110 * time.Second)
	w.want("a", second("", -3, 100, 2000))
}
