package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// The load of a round: requests in flight on few connections, for one of many keys.
const (
	users       = "100000"
	workers     = "64"
	connections = "4"
	warm        = 300 * time.Millisecond
)

// budget is more than a busy machine makes a request wait for Redis.
const budget = "1s"

// server is a program under load.
type server struct {
	name      string
	port, pid int
	store     *proc.Redis // nil: it has none
	stops     []func() error
}

func (s *server) stop() error {
	var all error
	for _, stop := range s.stops {
		all = errors.Join(all, stop())
	}
	return all
}

// start starts the floor, rls, and where there is Redis another rls with it.
func (b *bench) start(ctx context.Context) (all []*server, err error) {
	starts := []func(context.Context) (*server, error){b.startFloor, b.startLocal}
	if b.redis != "" {
		starts = append(starts, b.startRedis)
	}
	for _, start := range starts {
		s, err := start(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (b *bench) startFloor(ctx context.Context) (*server, error) {
	port, err := b.ports.Take(ctx)
	if err != nil {
		return nil, err
	}
	floor, err := proc.Start(ctx, "floor", b.floor, "-grpc-addr", proc.Loopback(port))
	if err != nil {
		return nil, err
	}
	s := &server{name: "floor", port: port, pid: floor.PID(), stops: []func() error{func() error {
		floor.Stop() //nolint:errcheck // it ends by the signal
		return nil
	}}}
	return s, floor.Await(ctx, func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", proc.Loopback(port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (b *bench) startLocal(ctx context.Context) (*server, error) {
	rls, err := b.startRLS(ctx)
	if err != nil {
		return nil, err
	}
	return &server{name: "rls", port: rls.GRPC, pid: rls.PID(), stops: []func() error{rls.Stop}}, nil
}

func (b *bench) startRedis(ctx context.Context) (*server, error) {
	store, err := proc.StartRedis(ctx, b.redis, &b.ports)
	if err != nil {
		return nil, err
	}
	rls, err := b.startRLS(ctx, "--backend", "redis", "--redis-url", "redis://"+store.Addr(), "--redis-budget", budget)
	if err != nil {
		return nil, errors.Join(err, store.Stop())
	}
	return &server{name: "rls, Redis", port: rls.GRPC, pid: rls.PID(), store: store, stops: []func() error{rls.Stop, store.Stop}}, nil
}

func (b *bench) startRLS(ctx context.Context, args ...string) (*proc.RLS, error) {
	return proc.StartRLS(ctx, b.rls, &b.ports, filepath.Join(b.root, "test", "bench", "rules"), args...)
}

// cost loads a server and returns the CPU time of a request, in microseconds, of the
// server and of its Redis.
func (b *bench) cost(ctx context.Context, s *server, each time.Duration) (own, inRedis float64, err error) {
	ask := func(d time.Duration) (proc.LoadResult, error) {
		return proc.Load(ctx, b.load, "-addr", proc.Loopback(s.port), "-pid", strconv.Itoa(s.pid),
			"-domain", "bench", "-key", "user_id", "-values", users, "-random",
			"-workers", workers, "-conns", connections, "-for", d.String())
	}
	if _, err = ask(warm); err != nil {
		return 0, 0, err
	}
	before, err := s.redisCPU()
	if err != nil {
		return 0, 0, err
	}
	r, err := ask(each)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.redisCPU()
	if err != nil {
		return 0, 0, err
	}
	if r.OK == 0 || r.Over+r.Failed > 0 {
		return 0, 0, fmt.Errorf("%s: %d requests admitted, %d refused, %d failed: %s", s.name, r.OK, r.Over, r.Failed, r.FirstFault)
	}
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(r.OK) }
	return micros(r.CPU), micros(after - before), nil
}

func (s *server) redisCPU() (time.Duration, error) {
	if s.store == nil {
		return 0, nil
	}
	return proc.CPU(s.store.PID())
}
