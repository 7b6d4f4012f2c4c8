package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// command is one call of the script for one node, and its reply.
type command struct {
	calls  []*call
	asking bool // whether ASKING goes before it
	args   []any
	reply  string
	err    error
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

// divide gives each call its lines of a reply, which has one for each item. One that
// has more or fewer says nothing of any.
func divide(batch []*call, reply string) error {
	first, lines, _ := strings.Cut(reply, "\n")
	now, err := strconv.ParseInt(first, 10, 64)
	items := 0
	for _, c := range batch {
		items += len(c.items)
	}
	if lines += "\n"; err != nil || strings.Count(lines, "\n") != items || strings.Count(reply, "\n") != items {
		return errReply
	}
	for _, c := range batch {
		at := 0
		for range c.items {
			at += strings.IndexByte(lines[at:], '\n') + 1
		}
		c.now, c.lines, lines = now, lines[:at], lines[at:]
	}
	return nil
}
