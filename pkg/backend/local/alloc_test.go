//go:build !race

package local

import (
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// How much the slow tests do: less under the race detector.
const (
	flood     = 1_000_000
	walkSteps = 20_000
)

// TestDecideDoesNotAllocate cannot be parallel: all allocations are counted.
func TestDecideDoesNotAllocate(t *testing.T) {
	kinds := []algorithms.Params{
		{Kind: algorithms.GCRA}, {Kind: algorithms.FixedWindow}, {Kind: algorithms.SlidingCounter}, {Kind: algorithms.LeakyQueue},
	}
	for _, charge := range []backend.Charge{backend.AllOrNothing, backend.Independent, backend.CountRefused, backend.Look} {
		for _, n := range []int{1, 3, few} {
			for _, limit := range []int64{1, 1 << 30} {
				l := newStore(t, Options{SweepEvery: idle})
				req := &backend.Request{Charge: charge}
				for i := range n {
					p := kinds[i%len(kinds)]
					p.Limit, p.Window = limit, time.Hour
					req.Asks = append(req.Asks, ask(strconv.Itoa(i/2), newRule(t, p), 1))
				}
				answers := make([]backend.Answer, n)
				allocs := testing.AllocsPerRun(100, func() { l.Decide(t.Context(), req, answers) })
				if allocs > 0 {
					t.Errorf("charge %d of %d asks of limit %d allocates %v times", charge, n, limit, allocs)
				}
			}
		}
	}
}
