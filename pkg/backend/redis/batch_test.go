package redis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// silent is a node that answers when it is told to.
type silent struct {
	down   atomic.Bool
	asked  chan []any
	answer chan string
}

func (s *silent) up() bool { return !s.down.Load() }

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
	mute := &silent{asked: make(chan []any, 10), answer: make(chan string)}
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

// TestBatchesAreBounded has more calls wait than go together.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, node := newBatched(t)
		var callers sync.WaitGroup
		for range 1 + 2*maxItems + 5 {
			callers.Go(func() {
				if a := r.ask1(t.Context(), t); a.Err != nil {
					t.Error(a.Err)
				}
			})
			synctest.Wait() // the first is in flight, the others wait
		}
		for _, want := range []int{1, maxItems, maxItems, 5} {
			if args := <-node.asked; args[2] != want {
				t.Errorf("%v items are asked for at once, want %d", args[2], want)
			}
			node.answer <- "1000" + strings.Repeat("\n", want)
		}
		callers.Wait()
	})
}

// TestAL09RedisTimeDecides makes two requests while the clock of this process goes on:
// what Redis is sent is the same, and leaves the time to it.
func TestAL09RedisTimeDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, node := newBatched(t)
		var sent [2]string
		for i := range sent {
			go func() {
				args := <-node.asked
				plan, ok := args[len(args)-1].([]byte)
				if !ok {
					t.Errorf("the plan is a %T", args[len(args)-1])
				}
				sent[i] = string(plan)
				node.answer <- "1000\n"
			}()
			if a := r.ask1(t.Context(), t); a.Now != int64(time.Millisecond) {
				t.Errorf("decided at %d ns, want the 1000 µs of Redis", a.Now)
			}
			time.Sleep(5 * time.Second)
		}
		if diff := cmp.Diff(sent[0], sent[1]); diff != "" {
			t.Errorf("5 s later (-want +got):\n%s", diff)
		}
		if now := sent[0][1]; now != 0 {
			t.Errorf("the plan begins with %d, want 0 for Redis' own time", now)
		}
	})
}

// TestNodeDown has a node go down while one call is in flight and another waits: that
// one, and who comes later, is told without the node being asked.
func TestNodeDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, node := newBatched(t)
		var answers [2]chan backend.Answer
		for i := range answers {
			answers[i] = make(chan backend.Answer)
			go func() { answers[i] <- r.ask1(t.Context(), t) }()
			synctest.Wait()
		}
		<-node.asked
		node.down.Store(true)
		node.answer <- "1000\n"
		if a := <-answers[0]; a.Err != nil {
			t.Errorf("error of the call in flight is %v", a.Err)
		}
		if a := <-answers[1]; !errors.Is(a.Err, ErrOpen) {
			t.Errorf("error of the call that waits is %v", a.Err)
		}
		if a := r.ask1(t.Context(), t); !errors.Is(a.Err, ErrOpen) {
			t.Errorf("error of a later call is %v", a.Err)
		}
		if len(node.asked) > 0 {
			t.Error("the node is asked")
		}
	})
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
