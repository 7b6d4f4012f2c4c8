// Command bench compares the CPU time that rls uses for a request, with the local
// backend and with Redis, with that of a no-op gRPC server, in rounds that alternate
// between them, since other load on the machine disturbs all alike. It also measures
// the memory of a key.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

func main() {
	rounds := flag.Int("rounds", 12, "rounds of all servers")
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
	out   io.Writer
	root  string
	rls   string // path of the program, as the three below
	floor string
	load  string
	redis string // empty: none is installed
}

func run(ctx context.Context, out io.Writer, rounds int, each time.Duration, keys int) error {
	dir, err := os.MkdirTemp("", "rls-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder
	b := &bench{out: out}
	if b.root, err = proc.Root(); err != nil {
		return err
	}
	for pkg, path := range map[string]*string{"./cmd/rls": &b.rls, "./test/bench/floor": &b.floor, "./test/load": &b.load} {
		if *path, err = proc.Build(ctx, b.root, pkg, dir); err != nil {
			return err
		}
	}
	if b.redis, err = proc.FindRedis(); err != nil {
		fmt.Fprintln(out, "not measured with Redis:", err)
	}
	if err := b.compare(ctx, rounds, each); err != nil {
		return err
	}
	return b.memory(ctx, keys)
}
