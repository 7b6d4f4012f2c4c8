package integration

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// queued is an answer to one of many requests.
type queued struct {
	*http.Response

	err error
}

// TestQueue sends more requests at once than the queue holds. The bounds hold on
// the slowest machine: a slot is never early, a delay never longer than the queue.
func TestQueue(t *testing.T) {
	t.Parallel()
	up := upstream(t)
	e := startEnvoy(t, "leaky-queue.yaml", startRLS(t, "testdata/limits"), up)

	const requests, burst, interval = 12, 4, 500 * time.Millisecond
	start := time.Now()
	answers := make(chan queued, requests)
	for range requests {
		go func() {
			// A caller's own headers must neither shorten the wait nor make one.
			resp, err := send(t.Context(), e, "/", "x-partner", "p",
				"x-envoy-fault-delay-request", "3600000", "x-envoy-fault-delay-request-percentage", "0")
			answers <- queued{resp, err}
		}()
	}
	var admitted int
	var delays []time.Duration
	for range requests {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		switch a.StatusCode {
		case http.StatusOK:
			admitted++
			if ms := a.Header.Get("X-Rls-Delay-Ms"); ms != "" {
				delays = append(delays, milliseconds(t, ms))
			}
		case http.StatusTooManyRequests:
			between(t, headerRetry, time.Second, seconds(t, a.Response, headerRetry), time.Second)
		default:
			t.Errorf("status %d", a.StatusCode)
		}
	}
	elapsed := time.Since(start)
	if most := burst + int(elapsed/interval); admitted < burst || admitted > most {
		t.Errorf("%d of %d are admitted in %v, want %d to %d", admitted, requests, elapsed, burst, most)
	}
	slices.Sort(delays)
	if len(delays) < burst-1 {
		t.Errorf("%d delays, want %d", len(delays), burst-1)
	}
	for i, d := range delays {
		if most := min(i+1, burst-1); d > time.Duration(most)*interval {
			t.Errorf("delay %d is %v, want at most %d intervals", i, d, most)
		}
	}
	checkSpacing(t, up, start, admitted, interval)
}

// checkSpacing wants the n-th arrival not before its slot, less the millisecond
// that Envoy's timer may fire early.
func checkSpacing(t *testing.T, up *proc.Upstream, start time.Time, admitted int, interval time.Duration) {
	t.Helper()
	arrivals := up.Arrivals()
	if len(arrivals) != admitted {
		t.Fatalf("%d arrivals at the upstream, want %d", len(arrivals), admitted)
	}
	for i, a := range arrivals {
		if i > 0 {
			t.Logf("gap before arrival %d: %v", i, a.At.Sub(arrivals[i-1].At))
		}
		if slot := time.Duration(i)*interval - time.Millisecond; a.At.Sub(start) < slot {
			t.Errorf("arrival %d after %v, want at least %v", i, a.At.Sub(start), slot)
		}
		if got := a.Header.Get("X-Envoy-Fault-Delay-Request"); got != "" {
			t.Errorf("the delay header reaches the upstream: %q", got)
		}
	}
}

func milliseconds(t *testing.T, digits string) time.Duration {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Error(err)
	}
	return time.Duration(n) * time.Millisecond
}
