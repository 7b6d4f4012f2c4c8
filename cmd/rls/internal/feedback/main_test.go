package feedback

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when tests begin, at a whole second.
func epoch() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// world is a book with a clock that stands still.
type world struct {
	*Book
	t   *testing.T
	now time.Time
}

func newWorld(t *testing.T, targets ...string) *world {
	t.Helper()
	w := &world{t: t, now: epoch()}
	w.Book = NewBook(func() time.Time { return w.now })
	w.SetTargets(targets)
	return w
}

func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

// want takes what there is of a target and compares it; times are since epoch.
func (w *world) want(target string, want ...seen) {
	w.t.Helper()
	var got []seen
	for _, o := range w.Take(target) {
		_, name, _ := strings.Cut(o.Reporter, "\x00")
		got = append(got, seen{
			name, o.Start.Sub(epoch()), o.End.Sub(epoch()), o.Row.Started, o.Row.OK, o.Row.Errors, o.StartedKnown, buckets(&o.Row.Latency),
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("of %s (-want +got):\n%s", target, diff)
	}
}

// seen is an Observation that can be written down.
type seen struct {
	Reporter            string        // its name, without the origin
	Start, End          time.Duration // since epoch
	Started, OK, Errors uint64
	Known               bool
	Latency             map[int]uint64 // by bucket
}

func buckets(s *adaptive.Sketch) map[int]uint64 {
	var m map[int]uint64
	for bucket, n := range s.All() {
		if m == nil {
			m = map[int]uint64{}
		}
		m[bucket] = n
	}
	return m
}

// bucketOf is the bucket of a latency.
func bucketOf(d time.Duration) int { return adaptive.Bucket(d.Seconds()) }
