//go:build !race

package adaptive

import "testing"

// Neither a tick nor a latency in a bucket in use allocates. The race detector
// allocates for itself; other tests do, too, so this one does not run beside
// them.
func TestNoTickAllocates(t *testing.T) {
	c := NewConfig(50, 2000, 400)
	s, tick := c.Start(), failing()
	sketch := TwoPoint(100, 0.02, 0.1)
	got := testing.AllocsPerRun(100, func() {
		s = c.Step(s, tick)
		sketch.Add(Bucket(0.02), 1)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
