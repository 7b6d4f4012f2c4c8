package local

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		wall    time.Duration // how far the wall has been set
		elapsed time.Duration
		want    time.Duration // elapsed on the clock
	}{
		{"steady", 0, 25 * time.Second, 25 * time.Second},
		{"wall set ahead, not yet noticed", time.Hour, 9 * time.Second, 9 * time.Second},
		{"wall set ahead", time.Hour, 10 * time.Second, time.Hour + 10*time.Second},
		{"wall set back", -time.Hour, 25 * time.Second, 25 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				c.anchor.Add(-int64(test.wall)) // as if the wall had been set by so much
				start := c.now()
				time.Sleep(test.elapsed)
				if got := time.Duration(c.now() - start); got != test.want {
					t.Errorf("clock went %v, want %v", got, test.want)
				}
				if c.due.Load() <= int64(test.elapsed) {
					t.Error("the wall is asked every time")
				}
			})
		})
	}
}
