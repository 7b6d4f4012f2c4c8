// Command load asks a rate limit service as fast as it answers, and prints a
// proc.LoadResult as JSON. Its requests are encoded once and its answers hardly decoded, so that the
// service gets most of the machine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// options say what is asked: one descriptor of one entry, whose value is a number
// of nine digits.
type options struct {
	addr, domain, key string
	values            int  // distinct values, from 0
	random            bool // the order of the values; otherwise they go round
	requests          int  // in all; 0 = until the duration ends
	duration, warm    time.Duration
	workers           int // requests in flight
	connections       int
	pid               int // of the service, for its CPU time; 0 = unknown
}

func main() {
	if err := run(context.Background(), parse()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8081", "the service")
	flag.StringVar(&o.domain, "domain", "", "domain of the requests")
	flag.StringVar(&o.key, "key", "", "key of the descriptor's entry")
	flag.IntVar(&o.values, "values", 1, "number of distinct values")
	flag.BoolVar(&o.random, "random", false, "take the values at random")
	flag.IntVar(&o.requests, "requests", 0, "requests in all")
	flag.DurationVar(&o.duration, "for", 0, "time to go on, without -requests")
	flag.DurationVar(&o.warm, "warm", 0, "time to ask before the counting begins")
	flag.IntVar(&o.workers, "workers", 64, "requests in flight")
	flag.IntVar(&o.connections, "conns", 4, "connections")
	flag.IntVar(&o.pid, "pid", 0, "process of the service, to measure its CPU time")
	flag.Parse()
	return o
}

func run(ctx context.Context, o options) error {
	c, err := dial(o)
	if err != nil {
		return err
	}
	defer c.close()
	if o.warm > 0 {
		c.ask(ctx, 0, o.warm)
	}
	before, err := cpu(o.pid)
	if err != nil {
		return err
	}
	r := c.ask(ctx, o.requests, o.duration)
	after, err := cpu(o.pid)
	if err != nil {
		return err
	}
	r.CPU = after - before
	return json.NewEncoder(os.Stdout).Encode(r)
}

func cpu(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	return proc.CPU(pid)
}
