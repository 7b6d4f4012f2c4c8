package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// node is one Redis server, or the one that sentinels name.
type node struct {
	breaker

	addr    string // or the name of the master that sentinels name
	script  script
	batcher batcher
	options func() *goredis.Options
	client  atomic.Pointer[goredis.Client] // that decides
	sharing atomic.Pointer[goredis.Client] // for what no request waits for
	finder  *sentinels                     // nil: the address does not change
	stale   chan *goredis.Client           // of one place: its connections are to be made anew
	failed  func()                         // told of a trip that the node did not serve; may be nil
	checked atomic.Bool                    // the server's version and settings
	warn    func(string)
	end     context.CancelFunc
	ended   sync.WaitGroup
}

// newNode is a node of o without its batcher's numbers.
func newNode(o *Options, addr string, s script) *node {
	n := &node{addr: addr, script: s, stale: make(chan *goredis.Client, 1), warn: o.Warn}
	n.tripped = make(chan struct{}, 1)
	n.options = func() *goredis.Options { return clientOptions(o, addr) }
	if o.Mode == Sentinel {
		n.addr = o.Master
		n.finder = newSentinels(o)
		n.options = n.finder.clientOptions
	}
	n.client.Store(goredis.NewClient(n.options()))
	n.sharing.Store(goredis.NewClient(shareOptions(n.options())))
	return n
}

func (n *node) start() {
	n.batcher.start()
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	n.ended.Go(func() { n.keep(ctx) })
}

func (n *node) close() error {
	n.end()
	n.batcher.close()
	n.ended.Wait()
	return errors.Join(n.client.Load().Close(), n.sharing.Load().Close())
}

// up implements executor.
func (n *node) up() bool { return !n.open.Load() }

// run implements executor. A command that Redis refused for want of the script has
// not run, so it is sent again with the script itself, which Redis then keeps.
func (n *node) run(ctx context.Context, commands []*command) {
	if !n.up() {
		for _, k := range commands {
			k.err = ErrOpen
		}
		return
	}
	client := n.client.Load()
	send(ctx, client, commands)
	var again []*command
	for _, k := range commands {
		if goredis.HasErrorPrefix(k.err, "NOSCRIPT") {
			k.args[0], k.args[1] = "eval", n.script.text
			again = append(again, k)
		}
	}
	if again != nil {
		send(ctx, client, again)
	}
	n.judge(client, commands)
}

// send sends commands together.
func send(ctx context.Context, client *goredis.Client, commands []*command) {
	if len(commands) == 1 && !commands[0].asking {
		k := commands[0]
		cmd := goredis.NewCmd(ctx, k.args...)
		k.read(cmd, client.Process(ctx, cmd))
		return
	}
	pipe := client.Pipeline()
	sent := make([]*goredis.Cmd, len(commands))
	for i, k := range commands {
		if k.asking {
			pipe.Process(ctx, goredis.NewCmd(ctx, "asking")) //nolint:errcheck // it only joins the pipeline
		}
		sent[i] = goredis.NewCmd(ctx, k.args...)
		pipe.Process(ctx, sent[i]) //nolint:errcheck // it only joins the pipeline
	}
	pipe.Exec(ctx) //nolint:errcheck // each command has its own
	for i, k := range commands {
		k.read(sent[i], sent[i].Err())
	}
}

func (k *command) read(cmd *goredis.Cmd, err error) {
	if err == nil {
		k.reply, err = cmd.Text()
	}
	k.err = nil
	if err != nil {
		k.err = fmt.Errorf("asking redis: %w", err)
	}
}

// judge draws the conclusions from a trip by a client.
func (n *node) judge(client *goredis.Client, commands []*command) {
	lost := 0
	for _, k := range commands {
		kind := faultOf(k)
		switch kind {
		case ReadOnly, Loading:
			n.outdated(client)
		case Timeout, Unavailable:
			lost++
			if kind != Timeout || k.size() <= maxItems { // a request of many more takes its time
				n.struck(weight(k.err))
			}
		default:
		}
		if kind == ReadOnly || kind == Loading || kind == ClusterDown {
			n.reportFailure()
		}
		if lost > 0 { // the others are lost with it
			n.reportFailure()
			return
		}
	}
	n.answered()
}

// size is how many items the command asks about.
func (k *command) size() int {
	n := 0
	for _, c := range k.calls {
		n += len(c.items)
	}
	return n
}

// faultOf is the kind of a command's error, or else of the first of its items'.
func faultOf(k *command) Kind {
	if k.err != nil {
		return KindOf(k.err)
	}
	at := strings.Index(k.reply, "\n!")
	if at < 0 {
		return Other
	}
	return kindOfReply(k.reply[at+2:])
}

// outdated has the connections of a client made anew.
func (n *node) outdated(client *goredis.Client) {
	select {
	case n.stale <- client:
	default:
	}
}

func (n *node) reportFailure() {
	if n.failed != nil {
		n.failed()
	}
}

// weight is how much a lost trip weighs: one without a connection says enough.
func weight(err error) int32 {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" {
		return strikes
	}
	return 1
}
