package proc

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy passes connections on to an address, and does to what comes back whatever
// a test wants.
type Proxy struct {
	listener net.Listener
	target   atomic.Pointer[string]
	meddle   atomic.Pointer[Meddler]
	opened   atomic.Int64
	ended    sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// Meddler gets what the target has sent, and returns what goes on in its place; nil
// ends the connection. It may wait, but not for ever.
type Meddler func(sent []byte) []byte

// NewProxy listens on a port of its own. Nobody need listen at the target.
func NewProxy(ctx context.Context, target string) (*Proxy, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l}
	p.Lead(target)
	p.ended.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lead has new connections lead to another address.
func (p *Proxy) Lead(target string) { p.target.Store(&target) }

// Meddle has m see what comes back from now on; nil lets it pass.
func (p *Proxy) Meddle(m Meddler) { p.meddle.Store(&m) }

// Opened is how many connections there have been.
func (p *Proxy) Opened() int64 { return p.opened.Load() }

// Drop ends all connections.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked()
}

func (p *Proxy) dropLocked() {
	for _, c := range p.conns {
		c.Close() //nolint:errcheck // that is the intent
	}
	p.conns = nil
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.dropLocked()
	p.mu.Unlock()
	p.ended.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.opened.Add(1)
		server, err := net.Dial("tcp", *p.target.Load()) //nolint:noctx // ended by Drop
		if err != nil {
			client.Close() //nolint:errcheck // as if it had been refused
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		if p.closed {
			p.dropLocked()
		}
		p.mu.Unlock()
		p.ended.Go(func() {
			io.Copy(server, client) //nolint:errcheck // ends with either
			server.Close()          //nolint:errcheck // ended
		})
		p.ended.Go(func() { p.reply(client, server) })
	}
}

func (p *Proxy) reply(client, server net.Conn) {
	defer client.Close() //nolint:errcheck // ended
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		passed := buffer[:n]
		if m := p.meddle.Load(); m != nil && *m != nil {
			passed = (*m)(passed)
		}
		if passed == nil {
			return
		}
		if _, err := client.Write(passed); err != nil {
			return
		}
	}
}
