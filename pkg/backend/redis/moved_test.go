package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeSentinel names a port of 127.0.0.1 as the master's, whatever it is asked.
func fakeSentinel(t *testing.T, port *atomic.Int64) (addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // nothing is lost
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // the client has gone
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					switch text := strings.ToLower(lines.Text()); {
					case text == "hello":
						fmt.Fprint(conn, "-ERR unknown command\r\n") //nolint:errcheck // the client sees it
					case strings.HasPrefix(text, "get-master"):
						fmt.Fprintf(conn, "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n%d\r\n", port.Load()) //nolint:errcheck // the client sees it
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestRD02SentinelsMove has sentinels name another master while nobody asks and no
// connection fails: connections are made anew.
func TestRD02SentinelsMove(t *testing.T) {
	t.Parallel()
	var port atomic.Int64
	port.Store(1)
	r, err := New(Options{Mode: Sentinel, Master: "m", Addrs: []string{fakeSentinel(t, &port)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it has met nobody
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	await := func(what string, holds func() bool) {
		t.Helper()
		for !holds() {
			if ctx.Err() != nil {
				t.Fatalf("%s: not within a minute", what)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	n := r.single
	old := n.client.Load()
	await("an attempt to connect", func() bool { return n.finder.latest.Load() != nil })
	for range 3 { // the same answer changes nothing
		if n.finder.moved(ctx) || n.client.Load() != old {
			t.Error("moved although the answer is the same")
		}
	}
	port.Store(2)
	await("new connections", func() bool { return n.client.Load() != old })
}
