package loop

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Upstream is an HTTP service with a number of workers. Each is busy with one
// request at a time, for a time drawn from the exponential distribution. Requests
// wait in line; one whose client has gone is worked on all the same, as most
// services do. Nothing in it knows of rls.
type Upstream struct {
	workers int
	service time.Duration // mean of a request, at full speed

	server *httptest.Server
	busy   chan struct{} // holds a token of each busy worker
	closed chan struct{}
	speed  atomic.Uint64 // bits of a float64
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

// NewUpstream starts an upstream at full speed.
func NewUpstream(workers int, service time.Duration) *Upstream {
	u := newUpstream(workers, service)
	u.server = httptest.NewServer(u)
	return u
}

// newUpstream makes one that does not listen.
func newUpstream(workers int, service time.Duration) *Upstream {
	u := &Upstream{
		workers: workers, service: service,
		busy: make(chan struct{}, workers), closed: make(chan struct{}), random: rand.New(rand.NewPCG(1, 2)), //nolint:gosec // to repeat
	}
	u.SetSpeed(1)
	return u
}

// SetSpeed makes each request take its time at full speed divided by f.
func (u *Upstream) SetSpeed(f float64) { u.speed.Store(math.Float64bits(f)) }

// Capacity is how many requests a second it can answer, now.
func (u *Upstream) Capacity() float64 {
	return float64(u.workers) / u.service.Seconds() * math.Float64frombits(u.speed.Load())
}

// Port is where it listens on loopback.
func (u *Upstream) Port() int {
	return int(netip.MustParseAddrPort(u.server.Listener.Addr().String()).Port())
}

// Close stops it. What waits in line is left.
func (u *Upstream) Close() {
	close(u.closed)
	u.server.Close()
}

// ServeHTTP works on a request. It does not look whether the client is there.
func (u *Upstream) ServeHTTP(http.ResponseWriter, *http.Request) {
	select {
	case u.busy <- struct{}{}: // in the order of arrival
	case <-u.closed:
		return
	}
	defer func() { <-u.busy }()
	work := time.NewTimer(u.draw())
	defer work.Stop()
	select {
	case <-work.C:
	case <-u.closed:
	}
}

func (u *Upstream) draw() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return time.Duration(u.random.ExpFloat64() * float64(u.service) / math.Float64frombits(u.speed.Load()))
}
