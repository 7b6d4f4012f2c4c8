package feedback

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

func TestNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{name: "no target", want: "feedback: a target is required"},
		{name: "negative interval", options: Options{Target: "t", Interval: -1}, want: "feedback: the interval is -1ns, must be 0 to 4s: rls takes 5s without a report for silence"},
		{name: "long interval", options: Options{Target: "t", Interval: 4*time.Second + 1}, want: "feedback: the interval is 4.000000001s, must be 0 to 4s: rls takes 5s without a report for silence"},
		{name: "longest interval", options: Options{Target: "t", Interval: 4 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got string
			if _, err := New(nil, tt.options); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReporterNames: two processes of a host are two reporters.
func TestReporterNames(t *testing.T) {
	t.Parallel()
	name := func() string {
		c, err := New(nil, Options{Target: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return c.take().GetReporter()
	}
	a, b := name(), name()
	if i := strings.LastIndex(a, "-"); i < 1 || len(a)-i != 9 || a == b {
		t.Errorf("the reporters are %q and %q", a, b)
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, nil, Options{})
		wait := func(d time.Duration) time.Time {
			start := c.begin()
			time.Sleep(d)
			return start
		}
		c.end(wait(50*time.Millisecond), served)
		c.end(wait(200*time.Millisecond), failed)
		c.end(wait(time.Second), severed)
		late, none := c.begin(), c.begin()
		got := []seen{seenIn(c.take())}
		time.Sleep(2 * time.Second)
		c.end(late, served)
		c.end(none, skipped)
		got = append(got, seenIn(c.take()))
		c.end(c.begin(), served) // its beginning makes up for the one that was none
		got = append(got, seenIn(c.take()))
		c.end(c.begin(), served)
		got = append(got, seenIn(c.take()), seenIn(c.take()))
		want := []seen{
			{
				Started: 5, OK: 1, Errors: 2, InFlight: 2,
				Latencies: map[int]uint64{adaptive.Bucket(0.05): 1, adaptive.Bucket(0.2): 1},
			},
			{OK: 1, Latencies: map[int]uint64{adaptive.Bucket(2): 1}},
			{OK: 1, Latencies: map[int]uint64{0: 1}},
			{Started: 1, OK: 1, Latencies: map[int]uint64{0: 1}},
			{},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestNothingIsLost has reports taken while calls begin and end.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	c := client(t, nil, Options{})
	const workers, each = 8, 2000
	var calls sync.WaitGroup
	for range workers {
		calls.Go(func() {
			for range each {
				c.end(c.begin(), served)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		calls.Wait()
		close(done)
	}()
	var sum seen
	add := func(r *feedbackv1.Report) {
		s := seenIn(r)
		var latencies uint64
		for _, n := range s.Latencies {
			latencies += n
		}
		if latencies != s.OK {
			t.Errorf("%d latencies of %d calls", latencies, s.OK)
		}
		sum.Started += s.Started
		sum.OK += s.OK
	}
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		add(c.take())
	}
	if diff := cmp.Diff(seen{Started: workers * each, OK: workers * each}, sum); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
