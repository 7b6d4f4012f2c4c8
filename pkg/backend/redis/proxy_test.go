package redis_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy passes connections on, and does harm when it is told to.
type proxy struct {
	listener net.Listener
	target   atomic.Value // string
	delay    atomic.Int64 // ns, of replies
	cut      atomic.Bool  // whether a connection ends instead of the next reply of a script
	opened   atomic.Int64 // connections

	mu    sync.Mutex
	conns []net.Conn
	ended sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	p.target.Store(target)
	p.ended.Go(p.accept)
	t.Cleanup(func() {
		l.Close() //nolint:errcheck // the test is over
		p.drop()
		p.ended.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// drop ends all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close() //nolint:errcheck // that is the intent
	}
	p.conns = nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.opened.Add(1)
		target, _ := p.target.Load().(string)
		server, err := net.Dial("tcp", target) //nolint:noctx // ended by drop
		if err != nil {
			client.Close() //nolint:errcheck // as if it had been refused
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.ended.Go(func() {
			io.Copy(server, client) //nolint:errcheck // ends with either
			server.Close()          //nolint:errcheck // ended
		})
		p.ended.Go(func() { p.reply(client, server) })
	}
}

func (p *proxy) reply(client, server net.Conn) {
	defer client.Close() //nolint:errcheck // ended
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil || buffer[0] == '$' && p.cut.CompareAndSwap(true, false) {
			return
		}
		if d := time.Duration(p.delay.Load()); d > 0 {
			time.Sleep(d)
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
