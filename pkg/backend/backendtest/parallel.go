package backendtest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
)

const year = 365 * 24 * time.Hour

// testContention wants exactly the limit admitted, however many ask at once.
func testContention(t *testing.T, open Open) {
	const goroutines, limit = 64, 1000
	eachShape(t, open, func(s *subject, rule func(numbers) *backend.Rule) {
		r := rule(numbers{limit: limit, window: year})
		var admitted atomic.Int64
		inParallel(goroutines, func(int) {
			admitted.Add(int64(s.admitted(requestsEach, ask("k", r, 1))))
		})
		s.equal("admitted", int64(limit), admitted.Load())
		s.equal("remaining", int64(0), s.remaining("k", r))
	})
}

// testOppositeOrders would never end if requests could lock each other out, and
// would admit different numbers for the keys if one were charged without the other.
func testOppositeOrders(t *testing.T, open Open) {
	const goroutines, limit, keys = 16, 1000, 5
	s := newSubject(t, open)
	r := newRule(t, fixedWindow(), numbers{limit: limit, window: year})
	small := newRule(t, fixedWindow(), numbers{limit: limit / 2, window: year})
	inParallel(goroutines, func(g int) {
		for n := range requestsEach / 10 {
			a, b := (g+n)%keys, (g+n+1+n%(keys-1))%keys
			s.decide(backend.AllOrNothing, ask(strconv.Itoa(a), r, 1), ask(strconv.Itoa(b), r, 1), ask("small", small, 1))
		}
	})
	used := int64(0)
	for key := range keys {
		used += limit - s.remaining(strconv.Itoa(key), r)
	}
	const want int64 = 2 * min(limit/2, goroutines*(requestsEach/10))
	s.equal("hits charged beside the small limit", want, used)
}

func inParallel(goroutines int, run func(g int)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() { run(g) })
	}
	all.Wait()
}
