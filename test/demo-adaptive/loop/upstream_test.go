package loop

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestUpstream: as many are served a second as there are workers for, at any speed,
// whoever still waits.
func TestUpstream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		speed float64
		want  float64 // requests a second
	}{
		{name: "full speed", speed: 1, want: 200},
		{name: "slow", speed: Slow, want: 80},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := newUpstream(16, 80*time.Millisecond)
				u.SetSpeed(tt.speed)
				if got := u.Capacity(); math.Abs(got-tt.want) > 1e-9 {
					t.Errorf("bears %v, want %v", got, tt.want)
				}
				start := time.Now()
				const requests = 4000
				done := make(chan struct{}, requests)
				gone, cancel := context.WithCancel(t.Context())
				cancel()
				for range requests {
					go func() {
						u.ServeHTTP(nil, httptest.NewRequestWithContext(gone, http.MethodGet, "/", http.NoBody))
						done <- struct{}{}
					}()
				}
				for range requests {
					<-done
				}
				if got := requests / time.Since(start).Seconds(); math.Abs(got/tt.want-1) > 0.1 {
					t.Errorf("served %.1f a second, want about %v", got, tt.want)
				}
			})
		})
	}
}

// TestLine: those who came first are served first.
func TestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(1, time.Second)
		served := make(chan int, 100)
		for i := range cap(served) {
			go func() {
				u.ServeHTTP(nil, nil)
				served <- i
			}()
			synctest.Wait()
		}
		var order []int
		for range cap(served) {
			order = append(order, <-served)
		}
		if !slices.IsSorted(order) {
			t.Errorf("served in the order %v", order)
		}
	})
}

// TestClose: nobody is left waiting.
func TestClose(t *testing.T) {
	t.Parallel()
	u := NewUpstream(1, 24*time.Hour)
	ended := make(chan struct{}, 3)
	for range cap(ended) {
		go func() {
			u.ServeHTTP(nil, nil)
			ended <- struct{}{}
		}()
	}
	u.Close()
	for range cap(ended) {
		<-ended
	}
}
