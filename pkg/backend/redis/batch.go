package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// Errors of asks that Redis did not decide.
var (
	ErrTimeout = errors.New("redis did not answer in time")
	ErrBusy    = errors.New("too many requests wait for redis")
	ErrClosed  = errors.New("the redis backend is closed")
)

// errReply is a reply that is none of the script's.
var errReply = errors.New("reading the reply of the script: unexpected form")

const (
	loops    = 1    // calls in flight; two are smaller each, and cost an eighth more of Redis' time
	waitings = 8192 // calls that may wait
	maxItems = 128  // of a call of the script, unless one request has more
)

// executor runs the script on one node.
type executor interface {
	// eval gives the script's reply. At most once does the script run.
	eval(ctx context.Context, args []any) (string, error)
}

// batcher shares calls of the script among requests: while calls are in flight,
// what comes waits, and goes into the next one together. Nothing waits for a
// batch to fill.
type batcher struct {
	node   executor
	sha    string
	slack  int64
	now    func() int64 // ns; nil: Redis' TIME
	queue  chan *call
	pool   *sync.Pool // of *call
	closed chan struct{}
	ended  sync.WaitGroup
}

func (b *batcher) start() {
	b.queue, b.closed = make(chan *call, waitings), make(chan struct{})
	for range loops {
		b.ended.Go(b.loop)
	}
}

// close ends the loops and fails what waits.
func (b *batcher) close() {
	close(b.closed)
	b.ended.Wait()
	for {
		select {
		case c := <-b.queue:
			b.deliver(c, ErrClosed)
		default:
			return
		}
	}
}

// do has c decided. If it fails without Redis' answer, c is no longer the caller's.
func (b *batcher) do(ctx context.Context, c *call, patience time.Duration) error {
	select {
	case <-b.closed:
		b.pool.Put(c)
		return ErrClosed
	default:
	}
	select {
	case b.queue <- c:
	default:
		b.pool.Put(c)
		return ErrBusy
	}
	c.timer.Reset(patience)
	err := ErrTimeout
	select {
	case <-c.done:
		c.timer.Stop()
		return nil
	case <-c.timer.C:
	case <-ctx.Done():
		c.timer.Stop()
		err = ctx.Err()
	}
	if c.state.CompareAndSwap(waiting, left) {
		return err
	}
	<-c.done // the answer has come at the last moment
	return nil
}

func (b *batcher) loop() {
	p := newPlan(b.slack)
	batch := make([]*call, 0, maxItems)
	for {
		select {
		case <-b.closed:
			return
		case c := <-b.queue:
			batch = b.gather(batch[:0], c)
		}
		b.run(p, batch)
		clear(batch)
	}
}

// gather takes what waits behind c, but for calls whose callers have left.
func (b *batcher) gather(batch []*call, c *call) []*call {
	items := 0
	for {
		if c.state.Load() == left {
			b.pool.Put(c)
		} else {
			batch = append(batch, c)
			items += len(c.items)
		}
		if items >= maxItems {
			return batch
		}
		select {
		case c = <-b.queue:
		default:
			return batch
		}
	}
}

func (b *batcher) run(p *plan, batch []*call) {
	if len(batch) == 0 {
		return
	}
	p.reset()
	for _, c := range batch {
		p.add(c)
	}
	reply, err := b.node.eval(context.Background(), p.command(b.sha, b.instant()))
	if err == nil {
		err = share(batch, reply)
	}
	for _, c := range batch {
		b.deliver(c, err)
	}
}

// instant is the injected clock's, in µs; it is never 0.
func (b *batcher) instant() int64 {
	if b.now == nil {
		return 0
	}
	return min(max(b.now()/int64(time.Microsecond), 1), algorithms.MaxMicro)
}

func (b *batcher) deliver(c *call, err error) {
	c.err = err
	if c.state.CompareAndSwap(waiting, delivered) {
		c.done <- struct{}{}
		return
	}
	b.pool.Put(c)
}

// share gives each call its lines of a reply.
func share(batch []*call, reply string) error {
	first, lines, _ := strings.Cut(reply, "\n")
	now, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return errReply
	}
	for _, c := range batch {
		at := 0
		for range c.items {
			length := strings.IndexByte(lines[at:], '\n')
			if length < 0 {
				length = len(lines) - at
				lines += "\n"
			}
			at += length + 1
		}
		c.now, c.lines, lines = now, lines[:at], lines[at:]
	}
	return nil
}
