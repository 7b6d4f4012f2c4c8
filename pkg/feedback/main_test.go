package feedback

import (
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client reports nowhere unless conn is given.
func client(t *testing.T, conn grpc.ClientConnInterface, o Options) *Client {
	t.Helper()
	o.Target, o.Reporter = "search", "me"
	c, err := New(conn, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// seen is what a report says of calls.
type seen struct {
	Started, OK, Errors, InFlight uint64
	Latencies                     map[int]uint64 // by bucket
}

func seenIn(r *feedbackv1.Report) seen {
	s := seen{Started: r.GetStarted(), OK: r.GetOk(), Errors: r.GetErrors(), InFlight: r.GetInFlight()}
	for _, b := range r.GetHistogram().GetBuckets() {
		if s.Latencies == nil {
			s.Latencies = map[int]uint64{}
		}
		s.Latencies[int(b.GetIndex())] += b.GetCount()
	}
	return s
}

// one is what a single call leaves, of the given outcome and latency in seconds.
func one(o outcome, seconds float64) seen {
	latencies := map[int]uint64{adaptive.Bucket(seconds): 1}
	switch o {
	case served:
		return seen{Started: 1, OK: 1, Latencies: latencies}
	case failed:
		return seen{Started: 1, Errors: 1, Latencies: latencies}
	case severed:
		return seen{Started: 1, Errors: 1}
	default:
		return seen{}
	}
}
