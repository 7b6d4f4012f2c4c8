package loop

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// service is an http.RoundTripper.
type service func(*http.Request) (*http.Response, error)

func (f service) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func scene() Scene {
	return Scene{Workers: 16, Service: 80 * time.Millisecond, Offered: 300, Deadline: time.Second}
}

func answers(after time.Duration, status int) service {
	return func(*http.Request) (*http.Response, error) {
		time.Sleep(after)
		return &http.Response{StatusCode: status, Body: http.NoBody}, nil
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		service service
		want    outcome
	}{
		{name: "in time", service: answers(time.Second, 200), want: inTime},
		{name: "late", service: answers(time.Second+1, 200), want: late},
		{name: "Envoy gives up", service: answers(time.Second, 504), want: late},
		{name: "nobody answers", service: func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, want: late},
		{name: "refused", service: answers(0, 429), want: refused},
		{name: "refused late", service: answers(time.Second+1, 429), want: refused},
		{name: "an error", service: answers(0, 503), want: failed},
		{name: "an error, late", service: answers(time.Second+1, 503), want: failed},
		{name: "no connection", service: func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }, want: failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLoad("http://service/", scene(), time.Now, nil)
				l.client.Transport = tt.service
				if got := l.ask(time.Now()); got != tt.want {
					t.Errorf("outcome %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestLateSender: what was sent late counts from when it was due.
func TestLateSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoad("http://service/", scene(), time.Now, nil)
		l.client.Transport = answers(time.Second/2, 200)
		due := time.Now()
		time.Sleep(time.Second/2 + 1)
		if got := l.ask(due); got != late {
			t.Errorf("outcome %v, want late", got)
		}
	})
}

// TestOpenLoop: callers do not wait for those before them, and each is noted.
func TestOpenLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &record{start: time.Now()}
		l := newLoad("http://service/", scene(), time.Now, r)
		l.client.Transport = service(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		l.run(ctx)
		got := Sum(r.first(20))
		if got.Offered < 20*300*9/10 || got.Offered > 20*300*11/10 {
			t.Errorf("%d requests in 20 s, want about %d", got.Offered, 20*300)
		}
		if diff := cmp.Diff(Second{Offered: got.Offered, Late: got.Offered}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRecord(t *testing.T) {
	t.Parallel()
	start := time.Now()
	r := &record{start: start}
	for i, o := range []outcome{inTime, late, refused, failed, inTime} {
		due := start.Add(time.Duration(i) * 500 * time.Millisecond)
		r.sent(due, time.Duration(5-i)*time.Millisecond)
		r.ended(due, o)
	}
	r.standing(start.Add(1100*time.Millisecond), 80, standing{limit: 160, reason: "why"})
	want := []Second{
		{Offered: 2, InTime: 1, Late: 1, Lag: 5 * time.Millisecond},
		{Offered: 2, Refused: 1, Failed: 1, Lag: 3 * time.Millisecond, Capacity: 80, Limit: 160, Reason: "why"},
		{Offered: 1, InTime: 1, Lag: time.Millisecond},
	}
	if diff := cmp.Diff(want, r.first(5)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], r.first(2)); diff != "" || r.last() != 160 {
		t.Errorf("limit %v, (-want +got):\n%s", r.last(), diff)
	}
	sum := Sum(want)
	if diff := cmp.Diff(Second{Offered: 5, InTime: 2, Late: 1, Refused: 1, Failed: 1, Lag: 5 * time.Millisecond, Capacity: 80. / 3, Limit: 160. / 3}, sum); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := sum.LateShare(); got != 1./3 || (Second{}).LateShare() != 0 {
		t.Errorf("share of late answers is %v, want a third", got)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for k := Adaptive; k <= Blind; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if !strings.Contains(Concurrency.String(), "Envoy") {
		t.Errorf("Envoy's own is called %v", Concurrency)
	}
}
