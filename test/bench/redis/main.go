// Command redis compares the CPU time that a decision of the Redis backend takes, in
// this process and in Redis, with that of the plain client and a script of its own
// for each, in rounds that alternate between the two.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

const (
	callers = 64
	keys    = 100_000
	budget  = time.Second // more than the load of a busy machine needs
)

func main() {
	rounds := flag.Int("rounds", 10, "rounds of both ways")
	each := flag.Duration("each", 2*time.Second, "length of a round of one way")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *rounds, *each)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// decide asks for one hit of a key.
type decide func(ctx context.Context, key []byte) error

func run(ctx context.Context, out io.Writer, rounds int, each time.Duration) error {
	path, err := proc.FindRedis()
	if err != nil {
		return err
	}
	server, err := proc.StartRedis(ctx, path, new(proc.Ports))
	if err != nil {
		return err
	}
	defer server.Stop() //nolint:errcheck // the measurement is done
	shared, closeShared, err := sharedCalls(server.Addr())
	if err != nil {
		return err
	}
	defer closeShared() //nolint:errcheck // the measurement is done
	plain, closePlain := plainCalls(server.Addr())
	defer closePlain() //nolint:errcheck // the measurement is done

	costs := map[string][]cost{}
	for range rounds {
		for name, way := range map[string]decide{"plain client": plain, "rls backend": shared} {
			c, err := measure(ctx, way, server.PID(), each)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			costs[name] = append(costs[name], c)
		}
	}
	for _, name := range []string{"plain client", "rls backend"} {
		fmt.Fprintf(out, "%-13s %s\n", name, median(costs[name]))
	}
	return nil
}

// sharedCalls decides by the backend.
func sharedCalls(addr string) (decide, func() error, error) {
	store, err := redis.New(redis.Options{Addrs: []string{addr}, Budget: budget})
	if err != nil {
		return nil, nil, err
	}
	limit, err := algorithms.New(algorithms.Params{Kind: algorithms.GCRA, Limit: 1000, Window: time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
	return func(ctx context.Context, key []byte) error {
		var answers [1]backend.Answer
		store.Decide(ctx, &backend.Request{
			Charge: backend.AllOrNothing, Asks: []backend.Ask{{Key: key, Rule: rule, Hits: 1}},
		}, answers[:])
		return answers[0].Err
	}, store.Close, nil
}

// naive is gcra as it is mostly written: one interval in µs, and no exactness.
const naive = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
if tat - now > interval * (burst - 1) then return {0, string.format('%.0f', tat)} end
tat = tat + interval
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
return {1, string.format('%.0f', tat)}`

// plainCalls decides by a script of the client, one call each.
func plainCalls(addr string) (decide, func() error) {
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	script := goredis.NewScript(naive)
	return func(ctx context.Context, key []byte) error {
		return script.Run(ctx, client, []string{"plain" + string(key)}, 1000, 1000).Err()
	}, client.Close
}

// cost is CPU time of a decision in µs, and how many there were in a second.
type cost struct{ ours, redis, perSecond float64 }

func (c cost) String() string {
	return fmt.Sprintf("%5.2f µs here, %5.2f µs in Redis of CPU a decision, %7.0f decisions/s", c.ours, c.redis, c.perSecond)
}

func median(costs []cost) cost {
	of := func(field func(cost) float64) float64 {
		var all []float64
		for _, c := range costs {
			all = append(all, field(c))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return cost{
		of(func(c cost) float64 { return c.ours }), of(func(c cost) float64 { return c.redis }),
		of(func(c cost) float64 { return c.perSecond }),
	}
}

// measure has many callers decide for a while.
func measure(ctx context.Context, way decide, pid int, each time.Duration) (cost, error) {
	ours, err1 := proc.CPU(os.Getpid())
	theirs, err2 := proc.CPU(pid)
	decided, err3 := load(ctx, way, each)
	oursAfter, err4 := proc.CPU(os.Getpid())
	theirsAfter, err5 := proc.CPU(pid)
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(decided) }
	return cost{micros(oursAfter - ours), micros(theirsAfter - theirs), float64(decided) / each.Seconds()},
		errors.Join(err1, err2, err3, err4, err5)
}

func load(ctx context.Context, way decide, each time.Duration) (decided int64, err error) {
	timed, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	var all sync.WaitGroup
	var total atomic.Int64
	faults := make(chan error, callers)
	for range callers {
		all.Go(func() {
			key, n := make([]byte, 0, 64), int64(0)
			for timed.Err() == nil {
				key = strconv.AppendInt(append(key[:0], "..bench.user_id."...), rand.Int64N(keys), 10) //nolint:gosec // no secret
				if err := way(ctx, key); err != nil {
					faults <- err
					break
				}
				n++
			}
			total.Add(n)
		})
	}
	all.Wait()
	close(faults)
	return total.Load(), <-faults
}
