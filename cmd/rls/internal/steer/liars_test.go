package steer_test

import (
	"fmt"
	"testing"
	"time"
)

// service answers in 20 ms and as many as it can; the rest waits. It is seen by
// Envoys, which do not say how many requests began.
type service struct {
	*world

	envoys   int
	capacity float64 // answers a second
	queue    float64
	answered float64
}

// run lets a second pass with more requests than the service can answer, and returns
// how long the last of them waits.
func (s *service) run() time.Duration {
	const offered = 700
	admitted := min(offered, int(s.limit()))
	s.pass(admitted, offered-admitted)
	latency := 20*time.Millisecond + time.Duration(s.queue/s.capacity*float64(time.Second))
	waiting := s.queue + float64(admitted)
	answered := min(s.capacity, waiting)
	s.queue = waiting - answered
	s.answered += answered
	for e := range s.envoys {
		s.report(fmt.Sprint("envoy ", e), 0, answers(0, uint64(answered)/uint64(s.envoys), 0, latency), false)
	}
	s.second()
	return latency
}

func (s *service) lie(ok uint64) { s.report("liar", 0, answers(0, ok, 0, 20*time.Millisecond), false) }

// used is the share of the service's capacity that was used in so many seconds.
func (s *service) used(seconds int) float64 {
	s.answered = 0
	for range seconds {
		s.run()
	}
	return s.answered / s.capacity / float64(seconds)
}

// TestLies: what a reporter says that is one of many moves nothing, said once or all
// the time; and where it is one of two it is soon forgotten.
func TestLies(t *testing.T) {
	t.Parallel()
	for _, ok := range []uint64{100_000, 1_000_000_000} {
		for _, seconds := range []int{1, 60} {
			for _, envoys := range []int{5, 3, 2, 1} {
				if envoys == 1 && seconds > 1 { // it says what it likes: there is no majority
					continue
				}
				t.Run(fmt.Sprint(envoys, " honest ones, ", ok, " for ", seconds, " s"), func(t *testing.T) {
					t.Parallel()
					s := &service{world: newWorld(t, oneRule, nil, ""), envoys: envoys, capacity: 400}
					s.used(30)
					during := s.lieFor(seconds, ok)
					if seconds > 1 && during < 0.85 {
						t.Errorf("%.2f of the capacity used meanwhile, want 0.85 at least", during)
					}
					if used := s.used(60); used < 0.82 {
						t.Errorf("%.2f of the capacity used in the minute after, want 0.82 at least", used)
					}
					if n := s.Standings()[0]; n.Delivered < 300 || n.Delivered > 500 {
						t.Errorf("%.0f a second delivered, want about 400", n.Delivered)
					}
				})
			}
		}
	}
}

func (s *service) lieFor(seconds int, ok uint64) float64 {
	s.answered = 0
	for range seconds {
		s.lie(ok)
		s.run()
	}
	return s.answered / s.capacity / float64(seconds)
}

// TestLieInADrop: a reporter that sees nothing but good does not hide that the
// service has lost most of its capacity.
func TestLieInADrop(t *testing.T) {
	t.Parallel()
	for _, lies := range []int{0, 59, 120} { // the last before the drop, or none is
		s := &service{world: newWorld(t, oneRule, nil, ""), envoys: 5, capacity: 400}
		late := 0
		for i := range 120 {
			if i == 60 {
				s.capacity = 160
			}
			if i < lies {
				s.lie(1_000_000_000)
			}
			if s.run() > time.Second {
				late++
			}
		}
		if late > 2 {
			t.Errorf("%d late seconds with lies until the %d. second, want 2", late, lies)
		}
	}
}
