package integration

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/test/proc"
)

// redisServer is a Redis with a client to look into it.
type redisServer struct {
	*proc.Redis

	client *goredis.Client
}

// startRedis starts a Redis. When the test ends it looks that every key expires.
func startRedis(t *testing.T) *redisServer {
	t.Helper()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	server, err := proc.StartRedis(context.WithoutCancel(t.Context()), path, &programs.ports)
	if err != nil {
		t.Fatal(err)
	}
	r := &redisServer{server, goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})}
	t.Cleanup(func() {
		checkExpiries(t, server)
		if err := r.client.Close(); err != nil {
			t.Error(err)
		}
		r.Stop() //nolint:errcheck // some tests have ended it
	})
	return r
}

// checkExpiries wants every key of a server to expire.
func checkExpiries(t *testing.T, server *proc.Redis) {
	t.Helper()
	if err := server.CheckExpiries(context.WithoutCancel(t.Context()), "", ""); err != nil {
		t.Error(err)
	}
}

// backendArgs are the flags for the server.
func (r *redisServer) backendArgs() []string {
	return []string{"--backend", "redis", "--redis-url", "redis://" + r.Addr(), "--redis-budget", "10s"}
}

// keys are the server's keys; none if it has ended.
func keys(t *testing.T, c *goredis.Client) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var all []string
	found := c.Scan(ctx, 0, "*", 1000).Iterator()
	for found.Next(ctx) {
		all = append(all, found.Val())
	}
	if err := found.Err(); err != nil && !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	return all
}

// code asks once for each pair of key and value, a descriptor each.
func code(t *testing.T, r *proc.RLS, domain string, pairs ...string) string {
	t.Helper()
	var descriptors [][]string
	for i := 0; i < len(pairs); i += 2 {
		descriptors = append(descriptors, pairs[i:i+2])
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := sendRaw(ctx, r, encode(domain, descriptors...))
	if err != nil {
		return errorClass(err)
	}
	return a.GetOverallCode().String()
}

// admits is how many of n requests of domain t are OK.
func admits(t *testing.T, r *proc.RLS, n int, pairs ...string) (ok int) {
	t.Helper()
	for range n {
		if code(t, r, "t", pairs...) == rlspb.RateLimitResponse_OK.String() {
			ok++
		}
	}
	return ok
}

// eventually waits until a check holds.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !check() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// restartRedis starts a Redis where another was.
func restartRedis(t *testing.T, port int) {
	t.Helper()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(context.WithoutCancel(t.Context()), "Redis", path,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop() }) //nolint:errcheck // how it ends is not the test's concern
	err = p.Await(t.Context(), func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", proc.Loopback(port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
