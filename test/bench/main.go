// Command bench compares the CPU time that rls uses for a request with that of a
// no-op gRPC server, in rounds that alternate between the two, since other load on
// the machine disturbs both alike. It also measures the memory of a key.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
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

func main() {
	rounds := flag.Int("rounds", 12, "rounds of both servers")
	each := flag.Duration("each", 2*time.Second, "length of a round of one server")
	keys := flag.Int("keys", 1_000_000, "keys whose memory is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *rounds, *each, *keys)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what the measurements share.
type bench struct {
	ports proc.Ports
	root  string
	rls   string // path of the program, as the two below
	floor string
	load  string
}

func run(ctx context.Context, out io.Writer, rounds int, each time.Duration, keys int) error {
	dir, err := os.MkdirTemp("", "rls-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder
	b := &bench{}
	if b.root, err = proc.Root(); err != nil {
		return err
	}
	for pkg, path := range map[string]*string{"./cmd/rls": &b.rls, "./test/bench/floor": &b.floor, "./test/load": &b.load} {
		if *path, err = proc.Build(ctx, b.root, pkg, dir); err != nil {
			return err
		}
	}
	if err := b.compare(ctx, out, rounds, each); err != nil {
		return err
	}
	return b.memory(ctx, out, keys)
}

// compare runs both servers and loads them in turn.
func (b *bench) compare(ctx context.Context, out io.Writer, rounds int, each time.Duration) error {
	rls, err := b.startRLS(ctx)
	if err != nil {
		return err
	}
	defer rls.Stop() //nolint:errcheck // the measurement is done
	port, floor, err := b.startFloor(ctx)
	if err != nil {
		return err
	}
	defer floor.Stop() //nolint:errcheck // it ends by the signal

	var t table
	for round := range rounds {
		var r pair
		if r.floor, err = b.cost(ctx, port, floor.PID(), each); err != nil {
			return err
		}
		if r.rls, err = b.cost(ctx, rls.GRPC, rls.PID(), each); err != nil {
			return err
		}
		t = append(t, r)
		fmt.Fprintf(out, "round %2d: floor %5.2f µs, rls %5.2f µs of CPU a request, ratio %.3f\n",
			round+1, r.floor, r.rls, r.ratio())
	}
	t.print(out, each)
	return nil
}

func (b *bench) startRLS(ctx context.Context) (*proc.RLS, error) {
	return proc.StartRLS(ctx, b.rls, &b.ports, filepath.Join(b.root, "test", "bench", "rules"))
}

func (b *bench) startFloor(ctx context.Context) (port int, floor *proc.Process, err error) {
	if port, err = b.ports.Take(ctx); err != nil {
		return 0, nil, err
	}
	if floor, err = proc.Start(ctx, "floor", b.floor, "-grpc-addr", proc.Loopback(port)); err != nil {
		return 0, nil, err
	}
	err = floor.Await(ctx, func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", proc.Loopback(port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return port, floor, err
}

// cost loads a server and returns its CPU time of a request in microseconds.
func (b *bench) cost(ctx context.Context, port, pid int, each time.Duration) (float64, error) {
	r, err := proc.Load(ctx, b.load, "-addr", proc.Loopback(port), "-pid", strconv.Itoa(pid),
		"-domain", "bench", "-key", "user_id", "-values", users, "-random",
		"-workers", workers, "-conns", connections, "-warm", warm.String(), "-for", each.String())
	if err != nil {
		return 0, err
	}
	if r.OK == 0 || r.Over+r.Failed > 0 {
		return 0, fmt.Errorf("%d requests admitted, %d refused, %d failed: %s", r.OK, r.Over, r.Failed, r.FirstFault)
	}
	return float64(r.CPU.Nanoseconds()) / 1e3 / float64(r.OK), nil
}

// memory asks once for each of many keys.
func (b *bench) memory(ctx context.Context, out io.Writer, keys int) error {
	rls, err := b.startRLS(ctx)
	if err != nil {
		return err
	}
	defer rls.Stop() //nolint:errcheck // the measurement is done
	grown, err := proc.Growth(ctx, b.load, rls, keys)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "memory: %d bytes a key (resident, %d gcra keys)\n", grown/int64(keys), keys)
	return nil
}
