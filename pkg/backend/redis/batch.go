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
	ErrOpen    = errors.New("redis is down, as of the last call")
	ErrClosed  = errors.New("the redis backend is closed")
)

// errReply is a reply that is none of the script's.
var errReply = errors.New("reading the reply of the script: unexpected form")

const (
	waitings = 8192 // calls that may wait
	maxItems = 128  // of a call of the script, unless one request has more
)

// command is one call of the script for one node, and its reply.
type command struct {
	calls  []*call
	asking bool // whether ASKING goes before it
	args   []any
	reply  string
	err    error
}

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
			batch = b.gather(batch[:0], c)
		}
		b.trip(batch)
		clear(batch)
		if !b.node.up() {
			b.fail(ErrOpen)
		}
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

// trip asks the node and hands out the answers.
func (b *batcher) trip(batch []*call) {
	if len(batch) == 0 {
		return
	}
	b.commands = b.commands[:0]
	clear(b.slots)
	items := 0
	for _, c := range batch {
		k := b.commandOf(c)
		k.calls = append(k.calls, c)
		items += len(c.items)
	}
	b.sizes.count(items)
	now := b.instant()
	for i, k := range b.commands {
		if i == len(b.plans) {
			b.plans = append(b.plans, newPlan(b.slack))
		}
		p := b.plans[i]
		p.reset()
		for _, c := range k.calls {
			p.add(c)
		}
		k.args = p.command(b.sha, now)
	}
	b.node.run(context.Background(), b.commands)
	for _, k := range b.commands {
		b.answer(k)
		clear(k.calls)
	}
}

// commandOf is the command that c shares, or a new one.
func (b *batcher) commandOf(c *call) *command {
	alone := b.moved != nil && c.alone
	if k := b.slots[c.slot]; k != nil && !alone {
		return k
	}
	n := len(b.commands)
	if n == cap(b.commands) {
		b.commands = append(b.commands, new(command))
	}
	b.commands = b.commands[:n+1]
	k := b.commands[n]
	if k == nil {
		k = new(command)
		b.commands[n] = k
	}
	*k = command{calls: k.calls[:0], asking: c.asking}
	if !alone {
		b.slots[c.slot] = k
	}
	return k
}

func (b *batcher) answer(k *command) {
	err := k.err
	if err == nil {
		err = divide(k.calls, k.reply)
	}
	for _, c := range k.calls {
		left := err
		if err != nil && b.moved != nil {
			if left = b.moved(b.from, c, err); left == nil {
				continue
			}
		}
		b.deliver(c, left)
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

// divide gives each call its lines of a reply.
func divide(batch []*call, reply string) error {
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
