package steer_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// board is Redis as the replicas of one test share it. Turns end when the test says
// so, or when Redis thinks that the second is over.
type board struct {
	*redis.Redis

	t      *testing.T
	server *proc.Redis
	client *goredis.Client
}

func newBoard(t *testing.T) *board {
	t.Helper()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	var ports proc.Ports
	server, err := proc.StartRedis(context.WithoutCancel(t.Context()), path, &ports)
	if err != nil {
		t.Fatal(err)
	}
	b := &board{t: t, server: server, client: goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})}
	if b.Redis, err = redis.New(redis.Options{Addrs: []string{server.Addr()}, Budget: time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, end := range []func() error{b.client.Close, b.Close, server.Stop} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// key finds the one key whose name ends so.
func (b *board) key(suffix string) string {
	b.t.Helper()
	keys, err := b.client.Keys(b.t.Context(), "*"+suffix).Result()
	if err != nil || len(keys) != 1 {
		b.t.Fatalf("keys %q (error %v), want one that ends in %s", keys, err, suffix)
	}
	return keys[0]
}

// Share has turns that only the test ends, so that no wall clock matters.
func (b *board) Share(ctx context.Context, replica string, posts []redis.Post, _ time.Duration) []redis.Shared {
	return b.Redis.Share(ctx, replica, posts, time.Hour)
}

func (b *board) endTurn() {
	b.t.Helper()
	if err := b.client.Del(b.t.Context(), b.key(":turn")).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// age makes the state that is shared older.
func (b *board) age(by time.Duration) {
	b.t.Helper()
	key := b.key(":state")
	data, err := b.client.Get(b.t.Context(), key).Bytes()
	if err != nil {
		b.t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		b.t.Fatal(err)
	}
	state["at"] = time.Now().Add(-by)
	if data, err = json.Marshal(state); err != nil {
		b.t.Fatal(err)
	}
	if err := b.client.Set(b.t.Context(), key, data, time.Hour).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// keepless is a board that keeps no state while it is broken.
type keepless struct {
	*board

	broken bool
}

func (k *keepless) Keep(ctx context.Context, states []redis.State) []error {
	if !k.broken {
		return k.board.Keep(ctx, states)
	}
	errs := make([]error, len(states))
	for i := range errs {
		errs[i] = errors.New("not kept")
	}
	return errs
}

// failing is a board whose server does not answer while down is closed.
type failing struct {
	*board

	down chan struct{}
}

func (f *failing) Share(ctx context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared {
	select {
	case <-f.down:
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return f.Redis.Share(ended, replica, posts, turn)
	default:
		return f.board.Share(ctx, replica, posts, turn)
	}
}
