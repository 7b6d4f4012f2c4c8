// Command demo-adaptive shows how three limits fare when a service behind the real
// Envoy loses 60 % of its speed for a while: an adaptive rule, a static one, and
// Envoy's own adaptive concurrency filter.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/eb50146d/rls/test/demo-adaptive/loop"
	"github.com/eb50146d/rls/test/proc"
)

func main() {
	phase := flag.Duration("phase", 20*time.Second, "length of each of the three phases of a run")
	svg := flag.String("svg", "", "file to write a plot to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, *phase, *svg)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo-adaptive:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, phase time.Duration, svg string) (err error) {
	dir, err := os.MkdirTemp("", "rls-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder
	p := loop.Programs{Ports: new(proc.Ports)}
	if p.Root, err = proc.Root(); err != nil {
		return err
	}
	if p.Envoy, err = proc.FindEnvoy(p.Root); err != nil {
		return err
	}
	if p.RLS, err = proc.Build(ctx, p.Root, "./cmd/rls", dir); err != nil {
		return err
	}
	s := scene()
	fmt.Fprintf(out, "%.0f requests a second to a service that bears %.0f, and %.0f in the middle %v of a run; each wants its answer within %v\n",
		s.Offered, s.Bears(), s.Bears()*loop.Slow, phase, s.Deadline)
	var all []series
	for _, kind := range []loop.Kind{loop.Adaptive, loop.Static, loop.Concurrency} {
		s, err := measure(ctx, out, p, kind, phase)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	summary(out, all, int(phase/time.Second))
	if svg == "" {
		return nil
	}
	return os.WriteFile(svg, plot(all, int(phase/time.Second)), 0o644) //nolint:gosec // for everybody to read
}

// scene has half as much again offered as the service bears: 200 a second.
func scene() loop.Scene {
	return loop.Scene{Workers: 16, Service: 80 * time.Millisecond, Offered: 300, Deadline: time.Second}
}

// series is one run.
type series struct {
	kind    loop.Kind
	seconds []loop.Second
}

// measure runs one kind and prints its seconds as they become known.
func measure(ctx context.Context, out io.Writer, p loop.Programs, kind loop.Kind, phase time.Duration) (s series, err error) {
	b, err := loop.Start(ctx, p, scene(), kind, time.Now) //nolint:forbidigo // the demonstration's clock
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	header(out, kind)
	s.kind = kind
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for want := int(3 * phase / time.Second); len(s.seconds) < want; {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-tick.C:
		}
		b.Upstream.SetSpeed(speed(b.Elapsed(), phase))
		now := b.Seconds()
		for i := len(s.seconds); i < min(len(now), want); i++ {
			row(out, i, now[i])
		}
		s.seconds = now[:min(len(now), want)]
	}
	return s, nil
}

// speed is the service's in the first, the second and the third phase.
func speed(at, phase time.Duration) float64 {
	if at >= phase && at < 2*phase {
		return loop.Slow
	}
	return 1
}
