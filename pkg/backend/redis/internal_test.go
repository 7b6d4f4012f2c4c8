package redis

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	plain, secret, other := newKeyer("rls", nil), newKeyer("rls", []byte("s")), newKeyer("rls", []byte("o"))
	long := bytes.Repeat([]byte("x"), longest+1)
	tests := []struct {
		name     string
		keyer    *keyer
		identity []byte
		want     string // how it begins
		length   int
	}{
		{"short", &plain, []byte("id"), "rls1{}id", 8},
		{"braces", &plain, []byte("}{x}"), "rls1{}}{x}", 10},
		{"empty", &plain, nil, "rls1{}", 6},
		{"longest", &plain, long[1:], "rls1{}xxx", 6 + longest},
		{"too long", &plain, long, "rls1#{}", 7 + 32},
		{"secret", &secret, []byte("id"), "rls1#{}", 7 + 32},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // a pooled HMAC is used again
				got := string(test.keyer.appendKey(nil, test.identity))
				if !strings.HasPrefix(got, test.want) || len(got) != test.length {
					t.Errorf("key is %q, want %d bytes that begin with %q", got, test.length, test.want)
				}
			}
		})
	}
	keys := map[string]bool{}
	for _, k := range []*keyer{&plain, &secret, &other} {
		keys[string(k.appendKey(nil, long))] = true
		keys[string(k.appendKey(nil, long[1:]))] = true
	}
	if len(keys) != 6 {
		t.Errorf("two identities under three secrets have %d keys", len(keys))
	}
}

func TestPacker(t *testing.T) {
	t.Parallel()
	var p packer
	p.ints(0, 127, 128, 1<<16-1, 1<<16, -1)
	p.list(16)
	p.list(1 << 16)
	want := "\x96\x00\x7f\xcd\x00\x80\xcd\xff\xff\xd3\x00\x00\x00\x00\x00\x01\x00\x00\xd3\xff\xff\xff\xff\xff\xff\xff\xff" +
		"\xdc\x00\x10\xdd\x00\x01\x00\x00"
	if diff := cmp.Diff(want, string(p)); diff != "" {
		t.Errorf("packed (-want +got):\n%s", diff)
	}
}

// silent is a node that answers when it is told to.
type silent struct {
	asked  chan []any
	answer chan string
}

func (s *silent) up() bool { return true }

func (s *silent) run(_ context.Context, commands []*command) {
	for _, k := range commands {
		s.asked <- append([]any(nil), k.args...)
		var ok bool
		if k.reply, ok = <-s.answer; !ok {
			k.err = errors.New("lost")
		}
	}
}

func newBatched(t *testing.T) (*Redis, *silent) {
	t.Helper()
	mute := &silent{make(chan []any, 10), make(chan string)}
	r := &Redis{
		keys: newKeyer("", nil), budget: time.Minute, wall: func() int64 { return 1 },
	}
	r.calls.New = func() any { return newCall() }
	r.rounds.New = func() any { return newRound() }
	r.single = &node{batcher: batcher{node: mute, pool: &r.calls}}
	r.single.batcher.start()
	t.Cleanup(func() {
		close(mute.answer)
		r.single.batcher.close()
	})
	return r, mute
}

func (r *Redis) ask1(ctx context.Context, t *testing.T) backend.Answer {
	t.Helper()
	limit, err := algorithms.New(algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Second})
	if err != nil {
		t.Error(err)
	}
	answers := make([]backend.Answer, 1)
	rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
	r.Decide(ctx, &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{{Rule: rule, Hits: 1}}}, answers)
	return answers[0]
}

// TestBadReplies wants an error, once, for what no script replies.
func TestBadReplies(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"", "x", "1\nx", "1\n1 2 3 x", "1\n" + strings.Repeat("1 ", 70) + "1", "1\n5|x"} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			r, node := newBatched(t)
			go func() {
				<-node.asked
				node.answer <- reply
			}()
			if a := r.ask1(t.Context(), t); !errors.Is(a.Err, errReply) {
				t.Errorf("answer is %+v", a)
			}
		})
	}
}

// TestLateAnswer has callers leave, some while their calls are in flight and one
// while its call waits, which is not sent any more.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	r, node := newBatched(t)
	for range 1 {
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan backend.Answer)
		go func() { gone <- r.ask1(ctx, t) }()
		<-node.asked
		leave()
		if a := <-gone; !errors.Is(a.Err, context.Canceled) {
			t.Errorf("answer of a call in flight is %+v", a)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if a := r.ask1(ctx, t); !errors.Is(a.Err, context.Canceled) {
		t.Errorf("answer of a call that waits is %+v", a)
	}
	answered := make(chan backend.Answer)
	go func() { answered <- r.ask1(t.Context(), t) }()
	for range 1 {
		node.answer <- "1\n"
	}
	if args := <-node.asked; args[2] != 1 {
		t.Errorf("%v items are asked for, want only that of the caller who waits", args[2])
	}
	node.answer <- "1000\n"
	if a := <-answered; a.Err != nil || a.Remaining != 4 || a.Now != 1_000_000 {
		t.Errorf("answer is %+v", a)
	}
}

// TestBusy fills the queue.
func TestBusy(t *testing.T) {
	t.Parallel()
	r, _ := newBatched(t)
	r.single.batcher.close()
	r.single.batcher.closed = make(chan struct{}) // as before the loops ended
	for range waitings {
		r.single.batcher.queue <- newCall()
	}
	if a := r.ask1(t.Context(), t); !errors.Is(a.Err, ErrBusy) {
		t.Errorf("answer is %+v", a)
	}
}

func TestCheckServer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, version, policy string
		fails                 bool
		warnings              int
	}{
		{"oldest", "6.2.0", "noeviction", false, 0},
		{"newer", "7.0.15", "volatile-ttl", false, 1},
		{"newest", "10.0", "", false, 0},
		{"too old", "6.0.9", "noeviction", true, 0},
		{"much too old", "5.9.9", "noeviction", true, 0},
		{"none", "", "noeviction", true, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			warnings := 0
			n := &node{warn: func(string) { warnings++ }}
			err := n.check("# Server\r\nredis_version:" + test.version + "\r\nmaxmemory_policy:" + test.policy + "\r\n")
			if (err != nil) != test.fails || warnings != test.warnings {
				t.Errorf("error %v, %d warnings", err, warnings)
			}
		})
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	b := &breaker{tripped: make(chan struct{}, 1)}
	for range strikes - 1 {
		b.struck(1)
	}
	b.answered()
	for range strikes - 1 {
		b.struck(1)
	}
	if b.open.Load() {
		t.Error("open although an answer came between")
	}
	b.struck(1)
	if !b.open.Load() || len(b.tripped) != 1 {
		t.Error("not open after trips without an answer")
	}
	b.close()
	b.struck(1)
	if b.open.Load() {
		t.Error("open after one trip")
	}
	b.struck(strikes)
	if !b.open.Load() {
		t.Error("not open although there was no connection")
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want Kind
	}{
		{ErrBusy, Busy},
		{ErrOpen, Unavailable},
		{ErrClosed, Unavailable},
		{ErrTimeout, Timeout},
		{context.Canceled, Timeout},
		{errReply, Script},
		{errors.New("EOF"), Unavailable},
		{&replyError{"OOM command not allowed"}, OutOfMemory},
		{&replyError{"WRONGTYPE Operation"}, WrongType},
		{&replyError{"MASTERDOWN Link"}, Loading},
		{&replyError{"LOADING Redis"}, Loading},
		{&replyError{"CLUSTERDOWN Hash slot not served"}, ClusterDown},
		{&replyError{"MOVED 1 h:1"}, Redirected},
		{&replyError{"NOPERM this user"}, Denied},
		{&replyError{"ERR value of another form"}, Script},
		{&replyError{"NEWS of another kind"}, Other},
	}
	for _, test := range tests {
		if got := KindOf(test.err); got != test.want {
			t.Errorf("kind of %q is %v, want %v", test.err, got, test.want)
		}
	}
	names := map[string]bool{}
	for kind := range kinds {
		names[kind.String()] = true
	}
	if len(names) != int(kinds) {
		t.Errorf("the kinds are called %v", names)
	}
}

func TestBatchSizes(t *testing.T) {
	t.Parallel()
	var s sizes
	for _, asks := range []int{1, 2, 3, 4, 128, 129, 5000} {
		s.count(asks)
	}
	trips, asks := s.read()
	if diff := cmp.Diff(BatchSizes{1, 1, 2, 0, 0, 0, 0, 1, 2}, trips); diff != "" || asks != 5267 {
		t.Errorf("%d asks, trips (-want +got):\n%s", asks, diff)
	}
}
