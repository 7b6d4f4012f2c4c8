package server

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestBallast wants none where the owner has set a limit of memory.
func TestBallast(t *testing.T) { //nolint:paralleltest // the limit is of the process
	if got := len(ballast()); got != ballastSize {
		t.Errorf("%d bytes, want %d", got, ballastSize)
	}
	debug.SetMemoryLimit(math.MaxInt64 - 1)
	defer debug.SetMemoryLimit(math.MaxInt64)
	if got := len(ballast()); got != 0 {
		t.Errorf("%d bytes under a limit", got)
	}
}
