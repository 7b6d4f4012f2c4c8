package redis_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// migrate moves slot from one master to another while both serve it.
func migrate(t *testing.T, slot int, from, to *goredis.Client) {
	t.Helper()
	ctx := t.Context()
	do := func(c *goredis.Client, args ...any) any {
		t.Helper()
		reply, err := c.Do(ctx, args...).Result()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return reply
	}
	source, target := do(from, "CLUSTER", "MYID"), do(to, "CLUSTER", "MYID")
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	host, port := to.Options().Addr[:9], to.Options().Addr[10:]
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, slot, 1).Result()
		if err != nil {
			t.Error(err)
		}
		if len(keys) == 0 {
			break
		}
		do(from, "MIGRATE", host, port, keys[0], 0, 5000)
	}
	do(to, "CLUSTER", "SETSLOT", slot, "NODE", target)
	do(from, "CLUSTER", "SETSLOT", slot, "NODE", target)
}

// TestRD03Migration moves all slots of a node with keys, and back, under load, and
// wants no error and no wrong decision.
func TestRD03Migration(t *testing.T) {
	t.Parallel()
	const limit, keys = 200, 40
	c := ownCluster(t)
	s := openCluster(t, c, redis.Options{})
	r := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: limit, Window: 365 * 24 * time.Hour})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := map[int]bool{} // slots of keys on the first master
	for i := range keys {
		s.admitted(t, 1, ask(strconv.Itoa(i), r, 0))
		key := s.prefix + "1{}" + strconv.Itoa(i)
		slot := int(s.masters[0].ClusterKeySlot(t.Context(), key).Val())
		if slot < slots/3 {
			moved[slot] = true
		}
	}
	var moving atomic.Bool
	moving.Store(true)
	var admitted [keys]atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		inParallel(8, func(g int) {
			for n := 0; moving.Load() || n < limit*keys/4; n++ {
				i := (n*7 + g) % keys
				asks := []backend.Ask{ask(strconv.Itoa(i), r, 1)}
				if n%3 == 0 {
					asks = append(asks, ask(strconv.Itoa((i+1)%keys), r, 0))
				}
				verdict, answers := s.decide(t, backend.Independent, asks...)
				if verdict == backend.Failed {
					t.Errorf("request %d failed: %+v", n, answers)
					return
				}
				if answers[0].Allowed {
					admitted[i].Add(1)
				}
			}
		})
	}()
	if len(moved) < 5 {
		t.Errorf("%d slots to be moved", len(moved))
	}
	for slot := range moved {
		migrate(t, slot, s.masters[0], s.masters[1])
	}
	for slot := range moved {
		migrate(t, slot, s.masters[1], s.masters[2])
	}
	moving.Store(false)
	<-done
	for i := range keys {
		if got := admitted[i].Load(); got != limit {
			t.Errorf("key %d: admitted %d, want %d", i, got, limit)
		}
	}
	if got := fmt.Sprint(s.Stats().Errors); got != fmt.Sprint(redis.Stats{}.Errors) {
		t.Errorf("errors by kind are %s", got)
	}
}

// TestRD03HalfMoved leaves a slot between two nodes: new keys of it are decided by
// the node that it goes to.
func TestRD03HalfMoved(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	s := openCluster(t, c, redis.Options{})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := keyOn(s.prefix, 0)
	slot := redis.SlotOf(s.prefix + "1{}" + key)
	ctx := t.Context()
	source, target := s.masters[0].Do(ctx, "CLUSTER", "MYID").Val(), s.masters[1].Do(ctx, "CLUSTER", "MYID").Val()
	for client, args := range map[*goredis.Client][]any{
		s.masters[1]: {"CLUSTER", "SETSLOT", slot, "IMPORTING", source},
		s.masters[0]: {"CLUSTER", "SETSLOT", slot, "MIGRATING", target},
	} {
		if err := client.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 3, Window: time.Hour})
	if got := s.admitted(t, 5, ask(key, r, 1)); got != 3 {
		t.Errorf("admitted %d, want 3", got)
	}
	if n := s.masters[1].DBSize(ctx).Val(); n != 1 {
		t.Errorf("the new node has %d keys, want 1", n)
	}
	for _, m := range []int{1, 0} {
		if err := s.masters[m].Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", target).Err(); err != nil {
			t.Error(err)
		}
	}
}
