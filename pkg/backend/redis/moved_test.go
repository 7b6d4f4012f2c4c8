package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeServer answers words that it is sent, but greetings; an empty answer is none.
func fakeServer(t *testing.T, answer func(word string) string) net.Addr {
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
					word := strings.ToLower(lines.Text())
					reply := answer(word)
					if word == "hello" {
						reply = "-ERR unknown command\r\n"
					}
					fmt.Fprint(conn, reply) //nolint:errcheck // the client sees it
				}
			}()
		}
	}()
	return l.Addr()
}

// fakeSentinel names a port of 127.0.0.1 as the master's, whatever it is asked.
func fakeSentinel(t *testing.T, port *atomic.Int64) (addr string) {
	t.Helper()
	return fakeServer(t, func(word string) string {
		if strings.HasPrefix(word, "get-master") {
			return fmt.Sprintf("*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n", len(strconv.FormatInt(port.Load(), 10)), port.Load())
		}
		return ""
	}).String()
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
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
	n := r.single
	old := n.client.Load()
	await(t, "an attempt to connect", func() bool { return n.finder.latest.Load() != nil })
	for range 3 { // the same answer changes nothing
		if n.finder.moved(t.Context()) || n.client.Load() != old {
			t.Error("moved although the answer is the same")
		}
	}
	port.Store(2)
	await(t, "new connections", func() bool { return n.client.Load() != old })
}

// TestProbesFindTheMaster has the breaker open for a master that answers errors to
// all it is asked, by connections that stay: its successor is found all the same.
func TestProbesFindTheMaster(t *testing.T) {
	t.Parallel()
	var pings atomic.Int64
	master := func(pong string) int64 {
		addr, ok := fakeServer(t, func(word string) string {
			if word != "ping" {
				return ""
			}
			pings.Add(1)
			return pong
		}).(*net.TCPAddr)
		if !ok {
			t.Fatal("no port")
		}
		return int64(addr.Port)
	}
	var port atomic.Int64
	port.Store(master("-MASTERDOWN Link\r\n"))
	r, err := New(Options{Mode: Sentinel, Master: "m", Addrs: []string{fakeSentinel(t, &port)}, Budget: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it has met nobody
	r.single.struck(strikes)
	await(t, "a probe", func() bool { return pings.Load() > 0 })
	port.Store(master("+PONG\r\n"))
	await(t, "a closed breaker", r.single.up)
}
