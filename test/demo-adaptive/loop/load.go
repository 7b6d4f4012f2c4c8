package loop

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// load sends requests at a mean rate, at random instants, whatever becomes of those
// before: as independent users do.
type load struct {
	client   *http.Client
	url      string
	rate     float64 // requests a second
	deadline time.Duration
	now      func() time.Time
	to       *record
}

// outcome is what became of a request.
type outcome int

const (
	inTime  outcome = iota + 1
	late            // an answer after the deadline, or none
	refused         // 429
	failed          // any other answer or fault
)

// newLoad makes callers that wait for twice the deadline.
func newLoad(url string, s Scene, now func() time.Time, to *record) *load {
	return &load{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: 2 * s.Deadline},
		url:    url, rate: s.Offered, deadline: s.Deadline, now: now, to: to,
	}
}

// run sends until ctx ends, and returns when all has been answered.
func (l *load) run(ctx context.Context) {
	defer l.client.CloseIdleConnections()
	var underWay sync.WaitGroup
	defer underWay.Wait()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // to repeat
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := l.now(); ; {
		timer.Reset(due.Sub(l.now()))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		sent := due // a late sender must not look like a quick answer
		l.to.sent(sent, l.now().Sub(sent))
		underWay.Go(func() { l.to.ended(sent, l.ask(sent)) })
		due = due.Add(time.Duration(random.ExpFloat64() / l.rate * float64(time.Second)))
	}
}

// ask does not end with the load: what was sent is answered.
func (l *load) ask(sent time.Time) outcome {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, l.url, http.NoBody)
	if err != nil {
		return failed
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return unanswered(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if errors.Join(err, resp.Body.Close()) != nil {
		return failed
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return refused
	case resp.StatusCode == http.StatusGatewayTimeout:
		return late
	case resp.StatusCode != http.StatusOK:
		return failed
	case l.now().Sub(sent) > l.deadline:
		return late
	default:
		return inTime
	}
}

func unanswered(err error) outcome {
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return late
	}
	return failed
}
