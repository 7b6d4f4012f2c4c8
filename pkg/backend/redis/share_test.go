package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

func TestShare(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	share := func(replica, row string) redis.Shared {
		t.Helper()
		got, err := s.Share(t.Context(), "a rule", replica, []byte(row), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(got.At).Abs(); age > time.Minute {
			t.Errorf("Redis' clock is %v away", age)
		}
		return got
	}
	equal := func(want, got redis.Shared) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
			t.Error(diff)
		}
	}
	equal(redis.Shared{Turn: true, Rows: []redis.Row{{Replica: "a", Data: []byte("row 1")}}}, share("a", "row 1"))
	equal(redis.Shared{}, share("b", "row 2"))
	equal(redis.Shared{}, share("a", "row 3"))
	if err := s.Keep(t.Context(), "a rule", []byte("state")); err != nil {
		t.Fatal(err)
	}
	equal(redis.Shared{State: []byte("state")}, share("a", "row 4\n with a line"))

	for _, key := range s.keys(t) {
		switch {
		case strings.HasSuffix(key, ":turn"):
			s.client.Del(t.Context(), key)
		case strings.HasSuffix(key, ":rows"):
			s.client.HSet(t.Context(), key, "gone", "1000 long ago", "odd", "no instant", "far", "99999999999999999999 ahead", "ahead", "9999999999999999 ahead")
		}
	}
	got := share("b", "")
	equal(redis.Shared{State: []byte("state"), Turn: true, Rows: []redis.Row{
		{Replica: "a", Data: []byte("row 4\n with a line")}, {Replica: "b", Data: []byte{}},
	}}, got)
	for _, r := range got.Rows {
		if r.At.After(got.At) || got.At.Sub(r.At) > time.Minute {
			t.Errorf("%s left its row at %v, now is %v", r.Replica, r.At, got.At)
		}
	}
	for _, key := range s.keys(t) {
		if strings.HasSuffix(key, ":rows") {
			if n := s.client.HLen(t.Context(), key).Val(); n != 2 {
				t.Errorf("%d rows are left, want 2", n)
			}
		}
	}
	for _, turn := range []time.Duration{goredis.KeepTTL, 2 * time.Hour} { // none, and too long
		for _, key := range s.keys(t) {
			if strings.HasSuffix(key, ":turn") {
				s.client.Persist(t.Context(), key)
				if turn > 0 {
					s.client.PExpire(t.Context(), key, turn)
				}
			}
		}
		if !share("a", "").Turn {
			t.Errorf("nobody has the turn while it is taken for %v", turn)
		}
	}
	other, err := s.Share(t.Context(), "another rule", "a", nil, time.Hour)
	if err != nil || !other.Turn || other.State != nil {
		t.Errorf("another name: %+v, error %v", other, err)
	}
}

// TestShareInCluster has the names of rules on all masters, each in one slot.
func TestShareInCluster(t *testing.T) {
	t.Parallel()
	c := openCluster(t, shared.cluster, redis.Options{})
	for _, name := range []string{"a", "b{}", "}{", "d", "e{x}", "f", "g", "h", "i", "j", "k", "l"} {
		fresh := openCluster(t, shared.cluster, redis.Options{}) // which knows of no slot yet
		if _, err := fresh.Share(t.Context(), name, "a", nil, time.Hour); err != nil {
			t.Error(err)
		}
		shared, err := c.Share(t.Context(), name, "a", []byte("row"), time.Hour)
		if err != nil || !shared.Turn {
			t.Errorf("%q: turn %v, error %v", name, shared.Turn, err)
		}
		if err := c.Keep(t.Context(), name, []byte("state")); err != nil {
			t.Error(err)
		}
	}
	for i, m := range c.masters {
		if keys := m.Keys(t.Context(), c.prefix+"*").Val(); len(keys) == 0 || len(keys)%3 != 0 {
			t.Errorf("master %d has %d keys, want some rules of 3 keys each", i, len(keys))
		}
	}
}

func TestShareErrors(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	if _, err := s.Share(t.Context(), "x", "a", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, key := range s.keys(t) {
		s.client.Set(t.Context(), key, "another type", time.Minute)
	}
	if _, err := s.Share(t.Context(), "x", "a", nil, time.Hour); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("error %v, want WRONGTYPE", err)
	}
	gone := ownServer(t)
	down, err := redis.New(redis.Options{Addrs: []string{gone.Addr()}, Budget: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, down)
	if err := gone.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := down.Share(t.Context(), "x", "a", nil, time.Hour); err == nil {
		t.Error("no error from a server that has gone")
	}
	if err := down.Keep(t.Context(), "x", nil); err == nil {
		t.Error("no error from a server that has gone")
	}
}
