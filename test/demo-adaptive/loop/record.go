package loop

import (
	"sync"
	"time"
)

// Second is what became of the requests that were sent in one second.
type Second struct {
	Offered  int
	InTime   int           // answered with 200 within the deadline
	Late     int           // answered later, or not at all
	Refused  int           // by the limit
	Failed   int           // otherwise
	Lag      time.Duration // by which a request was sent too late, at most: the machine is busy
	Capacity float64       // of the upstream when the second began, requests a second
	Limit    float64       // in force then: requests a second, or at once where Envoy limits concurrency
	Reason   string        // of rls for the limit
}

// record has the seconds since its start.
type record struct {
	start   time.Time
	mu      sync.Mutex
	seconds []Second
	limit   float64 // the last one
}

// at is the second of an instant. The caller holds the lock.
func (r *record) at(t time.Time) *Second {
	i := max(0, int(t.Sub(r.start)/time.Second))
	for len(r.seconds) <= i {
		r.seconds = append(r.seconds, Second{})
	}
	return &r.seconds[i]
}

func (r *record) sent(due time.Time, lag time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.at(due)
	s.Offered++
	s.Lag = max(s.Lag, lag)
}

func (r *record) ended(sent time.Time, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.at(sent)
	switch o {
	case inTime:
		s.InTime++
	case late:
		s.Late++
	case refused:
		s.Refused++
	default:
		s.Failed++
	}
}

func (r *record) standing(t time.Time, capacity float64, now standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = now.limit
	s := r.at(t)
	s.Capacity, s.Limit, s.Reason = capacity, now.limit, now.reason
}

func (r *record) last() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit
}

// first are copies of the first n seconds.
func (r *record) first(n int) []Second {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Second(nil), r.seconds[:min(n, len(r.seconds))]...)
}

// Sum adds seconds up; Capacity and Limit become means, Lag the greatest.
func Sum(all []Second) Second {
	var sum Second
	for _, s := range all {
		sum.Offered += s.Offered
		sum.InTime += s.InTime
		sum.Late += s.Late
		sum.Refused += s.Refused
		sum.Failed += s.Failed
		sum.Lag = max(sum.Lag, s.Lag)
		sum.Capacity += s.Capacity / float64(len(all))
		sum.Limit += s.Limit / float64(len(all))
	}
	return sum
}

// LateShare is the share of late answers in those of admitted requests.
func (s Second) LateShare() float64 {
	if s.InTime+s.Late == 0 {
		return 0
	}
	return float64(s.Late) / float64(s.InTime+s.Late)
}
