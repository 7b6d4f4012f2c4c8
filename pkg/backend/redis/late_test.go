package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// TestLateAnswer has callers leave, one while its call is in flight and one while its
// call waits, which is not sent any more.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	r, node := newBatched(t)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan backend.Answer)
	go func() { gone <- r.ask1(ctx, t) }()
	<-node.asked
	leave()
	if a := <-gone; !errors.Is(a.Err, context.Canceled) {
		t.Errorf("answer of a call in flight is %+v", a)
	}
	if a := r.ask1(ctx, t); !errors.Is(a.Err, context.Canceled) {
		t.Errorf("answer of a call that waits is %+v", a)
	}
	answered := make(chan backend.Answer)
	go func() { answered <- r.ask1(t.Context(), t) }()
	node.answer <- "1\n"
	if args := <-node.asked; args[2] != 1 {
		t.Errorf("%v items are asked for, want only that of the caller who waits", args[2])
	}
	node.answer <- "1000\n"
	if a := <-answered; a.Err != nil || a.Remaining != 4 || a.Now != 1_000_000 {
		t.Errorf("answer is %+v", a)
	}
}

// standIn is a local store that refuses all when it is told to.
type standIn struct {
	backend.Backend

	told chan struct{}
}

func (s *standIn) Decide(_ context.Context, _ *backend.Request, answers []backend.Answer) backend.Verdict {
	<-s.told
	clear(answers)
	return backend.OverLimit
}

// TestLateGiveBack has a caller leave while what its refused request has charged waits
// to be given back: that is done all the same.
func TestLateGiveBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, node := newBatched(t)
		local := &standIn{told: make(chan struct{})}
		r.local = local
		rule := func(window time.Duration) *backend.Rule {
			limit, err := algorithms.New(algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: window})
			if err != nil {
				t.Fatal(err)
			}
			return &backend.Rule{Limit: limit, OnError: backend.OnErrorLocal}
		}
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan backend.Verdict)
		go func() {
			asks := []backend.Ask{{Rule: rule(time.Second), Hits: 1}, {Rule: rule(time.Second + time.Nanosecond), Hits: 1}} // the second is not for Redis
			gone <- r.Decide(ctx, &backend.Request{Charge: backend.AllOrNothing, Asks: asks}, make([]backend.Answer, 2))
		}()
		<-node.asked
		another := make(chan backend.Answer)
		go func() { another <- r.ask1(t.Context(), t) }()
		synctest.Wait()
		node.answer <- "1000\n" // the first hit is charged
		<-node.asked            // the other caller's call is in flight
		close(local.told)
		synctest.Wait()
		leave()
		if verdict := <-gone; verdict != backend.OverLimit {
			t.Errorf("verdict is %d", verdict)
		}
		node.answer <- "1000\n"
		<-another
		synctest.Wait()
		select {
		case args := <-node.asked:
			node.answer <- "1000\n"
			if args[2] != 1 {
				t.Errorf("%v items are given back, want 1", args[2])
			}
		default:
			t.Error("nothing is given back")
		}
	})
}
