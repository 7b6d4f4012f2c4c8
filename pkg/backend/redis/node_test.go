package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
)

func TestUP02CheckServer(t *testing.T) {
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

// protocolError is an error reply as the client has it.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// RedisError implements goredis.Error.
func (protocolError) RedisError() {}

// TestJudge says what follows from the commands of a trip, after one that was lost.
func TestJudge(t *testing.T) {
	t.Parallel()
	failed := func(err error) *command { return &command{err: err} }
	answered := func(reply string) *command { return &command{reply: reply} }
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	type conclusion struct {
		Strikes                int32
		Open, Renews, Reported bool
	}
	for _, row := range []struct {
		name     string
		commands []*command
		want     conclusion
	}{
		{"answered", []*command{answered("1\n5"), answered("1\n5")}, conclusion{}},
		{"lost", []*command{failed(ErrTimeout)}, conclusion{Strikes: 2, Reported: true}},
		{"all lost together", []*command{failed(ErrTimeout), failed(ErrTimeout), failed(ErrTimeout)}, conclusion{Strikes: 2, Reported: true}},
		{"lost behind one that was answered", []*command{answered("1\n5"), failed(errors.New("EOF"))}, conclusion{Strikes: 2, Reported: true}},
		{"no connection", []*command{failed(fmt.Errorf("asking: %w", dial))}, conclusion{Strikes: 1 + strikes, Open: true, Reported: true}},
		{"a replica", []*command{failed(protocolError("READONLY You can't"))}, conclusion{Renews: true, Reported: true}},
		{"a replica, says the script", []*command{answered("1\n5\n!READONLY You can't")}, conclusion{Renews: true, Reported: true}},
		{"loading", []*command{failed(protocolError("LOADING Redis"))}, conclusion{Renews: true, Reported: true}},
		{"without its master", []*command{answered("1\n!MASTERDOWN Link")}, conclusion{Renews: true, Reported: true}},
		{"without slots", []*command{failed(protocolError("CLUSTERDOWN Hash slot"))}, conclusion{Reported: true}},
		{"full", []*command{answered("1\n!OOM command not allowed")}, conclusion{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got conclusion
			n := &node{stale: make(chan *goredis.Client, 1), failed: func() { got.Reported = true }}
			n.tripped = make(chan struct{}, 1)
			n.struck(1)
			n.judge(nil, row.commands)
			got.Strikes, got.Open, got.Renews = n.strikes.Load(), n.open.Load(), len(n.stale) == 1
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRunOpen wants nothing sent while the breaker is open.
func TestRunOpen(t *testing.T) {
	t.Parallel()
	n, k := &node{}, &command{} // without a client
	n.open.Store(true)
	if n.run(t.Context(), []*command{k}); !errors.Is(k.err, ErrOpen) {
		t.Errorf("error is %v", k.err)
	}
}

// TestRD02RenewedOnce: what is said of connections that have been replaced does not
// end the new ones, which serve requests by then.
func TestRD02RenewedOnce(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Addrs: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // it has met nobody
	n := r.single
	old := n.client.Load()
	for range 3 { // the third has room when the second is taken, after the first
		n.stale <- old
	}
	renewed := n.client.Load()
	for range 3 {
		n.stale <- old
	}
	if renewed == old || n.client.Load() != renewed {
		t.Errorf("renewed at all: %t, and once: %t", renewed != old, n.client.Load() == renewed)
	}
}

// TestRD11Backoff wants each wait twice as long as the one before, up to a second,
// and no two processes to wait alike.
func TestRD11Backoff(t *testing.T) {
	t.Parallel()
	var b backoff
	for _, ms := range []int{50, 100, 200, 400, 800, 1000, 1000} {
		most := time.Duration(ms) * time.Millisecond
		if got := b.wait(); got < most/2 || got >= most {
			t.Errorf("the wait is %v, want from %v up to %v", got, most/2, most)
		}
	}
	different := map[time.Duration]bool{}
	for range 20 {
		different[new(backoff).wait()] = true
	}
	if len(different) < 10 {
		t.Errorf("20 processes have %d different waits", len(different))
	}
}

// TestLT05Settings keeps connections busier than what forgets them after a minute,
// and has no command sent twice.
func TestLT05Settings(t *testing.T) {
	t.Parallel()
	o := clientOptions(&Options{}, "h:1")
	if o.ConnMaxIdleTime <= 0 || o.ConnMaxIdleTime >= time.Minute || keepAlive >= time.Minute {
		t.Errorf("connections are kept for %v and used every %v, want less than a minute", o.ConnMaxIdleTime, keepAlive)
	}
	if o.MaxRetries != -1 || !o.ContextTimeoutEnabled {
		t.Errorf("%d retries of the client, heeds deadlines %t", o.MaxRetries, o.ContextTimeoutEnabled)
	}
}
