package redis

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Errors of asks that Redis did not decide.
var (
	ErrTimeout = errors.New("redis did not answer in time")
	ErrBusy    = errors.New("too many requests wait for redis")
	ErrOpen    = errors.New("redis is down, as of the last call")
	ErrClosed  = errors.New("the redis backend is closed")
)

// errReply is a reply that is none of the script's.
var errReply = errors.New("reading the reply of the script: unexpected form")

const (
	waitings = 8192 // calls that may wait
	maxItems = 128  // of a call of the script, unless one request has more
)

// executor runs commands on one node.
type executor interface {
	// run fills in replies and errors. At most once does each command run.
	run(ctx context.Context, commands []*command)
	// up says whether the node is worth asking.
	up() bool
}

// batcher shares trips to a node among requests: while one is under way, what
// comes waits, and goes with the next one together. Nothing waits for a batch to
// fill. On one server all share a call of the script, in a cluster those of a slot.
type batcher struct {
	node   executor
	sha    string
	slack  int64
	now    func() int64                               // ns; nil: Redis' TIME
	moved  func(from *node, c *call, err error) error // takes over a call that did not run here; nil on one server
	from   *node
	queue  chan *call
	pool   *sync.Pool // of *call
	closed chan struct{}
	ended  sync.WaitGroup
	sizes  sizes

	commands []*command // in use by the loop, then kept for the next trip
	plans    []*plan
	slots    map[uint16]*command
}

func (b *batcher) start() {
	b.queue, b.closed = make(chan *call, waitings), make(chan struct{})
	b.slots = map[uint16]*command{}
	b.ended.Go(b.loop)
}

// close ends the loop and fails what waits.
func (b *batcher) close() {
	close(b.closed)
	b.ended.Wait()
	b.fail(ErrClosed)
}

// fail answers what waits.
func (b *batcher) fail(err error) {
	for {
		select {
		case c := <-b.queue:
			b.deliver(c, err)
		default:
			return
		}
	}
}

// submit has c decided, unless it returns an error.
func (b *batcher) submit(c *call) error {
	if !b.node.up() {
		return ErrOpen
	}
	select {
	case <-b.closed:
		return ErrClosed
	default:
	}
	select {
	case b.queue <- c:
		return nil
	default:
		return ErrBusy
	}
}

func (b *batcher) loop() {
	batch := make([]*call, 0, maxItems)
	for {
		select {
		case <-b.closed:
			return
		case c := <-b.queue:
			b.giveWay()
			batch = b.gather(batch[:0], c)
		}
		b.trip(batch)
		clear(batch)
		if !b.node.up() {
			b.fail(ErrOpen)
		}
	}
}

// giveWay lets whoever can run have a turn, as long as that brings calls. With
// nobody about it takes about a microsecond, and each trip that it saves many.
func (b *batcher) giveWay() {
	for before := -1; before < len(b.queue) && before < maxItems; {
		before = len(b.queue)
		runtime.Gosched()
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

func (b *batcher) deliver(c *call, err error) {
	c.err = err
	if c.state.CompareAndSwap(waiting, delivered) {
		c.done <- struct{}{}
		return
	}
	b.pool.Put(c)
}
