package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	ratelimitpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/test/proc"
)

// digits is the length of a value.
const digits = 9

// client asks over several connections.
type client struct {
	options

	conns    []*grpc.ClientConn
	template []byte // an encoded request; it ends with the value
}

func dial(o options) (*client, error) {
	c := &client{options: o}
	var err error
	if c.template, err = proto.Marshal(&rlspb.RateLimitRequest{
		Domain: o.domain,
		Descriptors: []*ratelimitpb.RateLimitDescriptor{{Entries: []*ratelimitpb.RateLimitDescriptor_Entry{
			{Key: o.key, Value: string(make([]byte, digits))},
		}}},
	}); err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	for range o.connections {
		conn, err := grpc.NewClient(o.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
		if err != nil {
			c.close()
			return nil, fmt.Errorf("making a client: %w", err)
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *client) close() {
	for _, conn := range c.conns {
		conn.Close() //nolint:errcheck // it can only say that it is closed
	}
}

// ask sends a number of requests, or for a time when requests is 0.
func (c *client) ask(ctx context.Context, requests int, d time.Duration) proc.LoadResult {
	var (
		next atomic.Int64
		stop atomic.Bool
		wg   sync.WaitGroup
		sum  tally
	)
	if requests == 0 {
		timer := time.AfterFunc(d, func() { stop.Store(true) })
		defer timer.Stop()
	}
	for w := range c.workers {
		wg.Go(func() {
			for !stop.Load() {
				n := int(next.Add(1)) - 1
				if requests > 0 && n >= requests {
					return
				}
				code, err := c.one(ctx, c.conns[w%len(c.conns)], n)
				sum.add(code, err)
			}
		})
	}
	wg.Wait()
	return sum.result()
}

// one sends the n-th request.
func (c *client) one(ctx context.Context, conn *grpc.ClientConn, n int) (rlspb.RateLimitResponse_Code, error) {
	value := n % c.values
	if c.random {
		value = rand.IntN(c.values) //nolint:gosec // no secret
	}
	req := append([]byte(nil), c.template...)
	number := strconv.AppendInt(nil, int64(value), 10)
	field := req[len(req)-digits:]
	copy(field, "000000000")
	copy(field[digits-len(number):], number)
	var code rlspb.RateLimitResponse_Code
	err := conn.Invoke(ctx, rlspb.RateLimitService_ShouldRateLimit_FullMethodName, req, &code)
	return code, err
}

// tally counts answers of many workers.
type tally struct {
	ok, over, failed atomic.Int64
	first            sync.Once
	fault            error
}

func (t *tally) add(code rlspb.RateLimitResponse_Code, err error) {
	switch {
	case err == nil && code == rlspb.RateLimitResponse_OK:
		t.ok.Add(1)
	case err == nil && code == rlspb.RateLimitResponse_OVER_LIMIT:
		t.over.Add(1)
	default:
		t.failed.Add(1)
		t.first.Do(func() { t.fault = errors.Join(err, fmt.Errorf("overall code %v", code)) })
	}
}

// result is called when the workers have ended.
func (t *tally) result() proc.LoadResult {
	r := proc.LoadResult{OK: t.ok.Load(), Over: t.over.Load(), Failed: t.failed.Load()}
	if t.fault != nil {
		r.FirstFault = t.fault.Error()
	}
	return r
}
