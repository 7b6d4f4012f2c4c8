package proc

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"time"
)

// Arrival is a request that reached the upstream.
type Arrival struct {
	At     time.Time
	Path   string
	Header http.Header
}

// Upstream is an HTTP service that answers 200 and remembers what arrived.
type Upstream struct {
	server   *httptest.Server
	mu       sync.Mutex
	arrivals []Arrival
}

// NewUpstream starts an upstream that stamps arrivals with now.
func NewUpstream(now func() time.Time) *Upstream {
	u := &Upstream{}
	u.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		a := Arrival{At: now(), Path: req.URL.Path, Header: req.Header.Clone()}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.arrivals = append(u.arrivals, a)
	}))
	return u
}

// Port is where it listens on loopback.
func (u *Upstream) Port() int {
	return int(netip.MustParseAddrPort(u.server.Listener.Addr().String()).Port())
}

// Arrivals returns what has arrived so far, in order.
func (u *Upstream) Arrivals() []Arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Arrival(nil), u.arrivals...)
}

// Close stops it.
func (u *Upstream) Close() { u.server.Close() }
