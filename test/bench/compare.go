package main

import (
	"context"
	"fmt"
	"time"
)

// compare loads all servers in turn.
func (b *bench) compare(ctx context.Context, rounds int, each time.Duration) error {
	servers, err := b.start(ctx)
	defer func() {
		for _, s := range servers {
			s.stop() //nolint:errcheck // the measurement is done
		}
	}()
	if err != nil {
		return err
	}
	var t table
	for round := range rounds {
		fmt.Fprintf(b.out, "round %2d:", round+1)
		var floor float64
		for _, s := range servers {
			own, inRedis, err := b.cost(ctx, s, each)
			if err != nil {
				return err
			}
			t.add(s.name, " µs", own)
			fmt.Fprintf(b.out, "  %s %.2f µs", s.name, own)
			if s == servers[0] {
				floor = own
				continue
			}
			t.add(s.name+" / floor", "", own/floor)
			if s.store != nil {
				t.add("in Redis", " µs", inRedis)
				fmt.Fprintf(b.out, " and %.2f µs there", inRedis)
			}
		}
		fmt.Fprintln(b.out)
	}
	t.print(b.out, each)
	return nil
}
