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

// share leaves a row under a name of one part, whose turns only the test ends.
func (s *store) share(t *testing.T, name, replica, row string) redis.Shared {
	t.Helper()
	post := redis.Post{Name: name, Row: []byte(row), Parts: []string{"a part"}}
	got := s.Share(t.Context(), replica, []redis.Post{post}, time.Hour)[0]
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if age := time.Since(got.At).Abs(); age > time.Minute {
		t.Errorf("Redis' clock is %v away", age)
	}
	return got
}

func (s *store) keep(t *testing.T, part, state string) {
	t.Helper()
	if err := s.Keep(t.Context(), []redis.State{{Name: "x", Part: part, Data: []byte(state)}})[0]; err != nil {
		t.Fatal(err)
	}
}

// one is what is told of one part.
func one(state string, turn bool, rows ...redis.Row) redis.Shared {
	p := redis.Part{Turn: turn}
	if state != "" {
		p.State = []byte(state)
	}
	return redis.Shared{Parts: []redis.Part{p}, Rows: rows}
}

func rowOf(replica, data string) redis.Row { return redis.Row{Replica: replica, Data: []byte(data)} }

func checkShared(t *testing.T, want, got redis.Shared) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// keysThat are those of the backend whose names end so.
func (s *store) keysThat(t *testing.T, end string) []string {
	t.Helper()
	var found []string
	for _, key := range s.keys(t) {
		if strings.HasSuffix(key, end) {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no key ends in %s", end)
	}
	return found
}

func TestShare(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	checkShared(t, one("", true, rowOf("a", "row 1")), s.share(t, "x", "a", "row 1"))
	checkShared(t, one("", false), s.share(t, "x", "b", "row 2"))
	checkShared(t, one("", false), s.share(t, "x", "a", "row 3"))
	s.keep(t, "a part", "state")
	checkShared(t, one("state", false), s.share(t, "x", "a", "row 4\n with a line"))

	s.client.Del(t.Context(), s.keysThat(t, ":turn")...)
	rows := s.keysThat(t, ":rows")[0]
	s.client.HSet(t.Context(), rows, "gone", "1000 long ago", "odd", "no instant", "far", "99999999999999999999 ahead", "ahead", "9999999999999999 ahead")
	got := s.share(t, "x", "b", "")
	checkShared(t, one("state", true, rowOf("a", "row 4\n with a line"), rowOf("b", "")), got)
	for _, r := range got.Rows {
		if r.At.After(got.At) || got.At.Sub(r.At) > time.Minute {
			t.Errorf("%s left its row at %v, now is %v", r.Replica, r.At, got.At)
		}
	}
	if n := s.client.HLen(t.Context(), rows).Val(); n != 2 {
		t.Errorf("%d rows are left, want 2", n)
	}
	s.client.PExpire(t.Context(), s.keysThat(t, ":turn")[0], 110*time.Minute)
	if s.share(t, "x", "a", "").Parts[0].Turn {
		t.Error("a turn that is less than twice as long as this replica's was taken away")
	}
	for _, turn := range []time.Duration{goredis.KeepTTL, 3 * time.Hour} { // none, and too long
		key := s.keysThat(t, ":turn")[0]
		s.client.Persist(t.Context(), key)
		if turn > 0 {
			s.client.PExpire(t.Context(), key, turn)
		}
		if !s.share(t, "x", "a", "").Parts[0].Turn {
			t.Errorf("nobody has the turn while it is taken for %v", turn)
		}
	}
	if other := s.share(t, "y", "a", ""); !other.Parts[0].Turn || other.Parts[0].State != nil {
		t.Errorf("another name: %+v", other)
	}
}

// TestShareParts: each part of a name has a turn and a state of its own, and all have
// the rows.
func TestShareParts(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	ask := func(replica string, parts ...string) redis.Shared {
		t.Helper()
		return s.Share(t.Context(), replica, []redis.Post{{Name: "x", Row: []byte(replica), Parts: parts}}, time.Hour)[0]
	}
	checkShared(t, redis.Shared{Parts: []redis.Part{{Turn: true}, {Turn: true}}, Rows: []redis.Row{rowOf("a", "a")}}, ask("a", "p", "q"))
	for _, part := range []string{"q", "r", "s"} {
		s.keep(t, part, "state of "+part)
	}
	q, r := redis.Part{State: []byte("state of q")}, redis.Part{State: []byte("state of r"), Turn: true}
	checkShared(t, redis.Shared{Parts: []redis.Part{q, {}}}, ask("b", "q", "p"))
	checkShared(t, redis.Shared{Parts: []redis.Part{{}, r, q}, Rows: []redis.Row{rowOf("a", "a"), rowOf("b", "b")}}, ask("b", "p", "r", "q"))
	checkShared(t, redis.Shared{Parts: []redis.Part{}}, ask("b"))
}

// TestShareInCluster has names on all masters, each in one slot, found before any slot
// is known.
func TestShareInCluster(t *testing.T) {
	t.Parallel()
	c := openCluster(t, shared.cluster, redis.Options{})
	var posts []redis.Post
	var states []redis.State
	for _, name := range []string{"a", "b{}", "}{", "d", "e{x}", "f", "g", "h", "i", "j", "k", "l"} {
		posts = append(posts, redis.Post{Name: name, Row: []byte("row of " + name), Parts: []string{"{p}"}})
		states = append(states, redis.State{Name: name, Part: "{p}", Data: []byte("state of " + name)})
	}
	for _, err := range c.Keep(t.Context(), states) {
		if err != nil {
			t.Error(err)
		}
	}
	for i, got := range c.Share(t.Context(), "r", posts, time.Hour) {
		checkShared(t, one("state of "+posts[i].Name, true, rowOf("r", "row of "+posts[i].Name)), got)
	}
	for i, m := range c.masters {
		if keys := m.Keys(t.Context(), c.prefix+"*").Val(); len(keys) == 0 || len(keys)%3 != 0 {
			t.Errorf("master %d has %d keys, want some names of 3 keys each", i, len(keys))
		}
	}
}

// TestShareHeals: keys that hold something else are written anew.
func TestShareHeals(t *testing.T) {
	t.Parallel()
	s := open(t, shared.shared, redis.Options{})
	s.share(t, "x", "a", "")
	s.keep(t, "a part", "state")
	for _, foreign := range []func(key string) error{
		func(key string) error { return s.client.Set(t.Context(), key, "text", time.Minute).Err() },
		func(key string) error { return s.client.HSet(t.Context(), key, "f", "no row").Err() },
		func(key string) error { return s.client.RPush(t.Context(), key, "x").Err() },
	} {
		for _, key := range s.keys(t) {
			s.client.Del(t.Context(), key)
			if err := foreign(key); err != nil {
				t.Fatal(err)
			}
			s.client.PExpire(t.Context(), key, 3*time.Hour)
		}
		got := s.share(t, "x", "a", "row")
		if !got.Parts[0].Turn || len(got.Rows) != 1 || string(got.Rows[0].Data) != "row" {
			t.Errorf("%+v, want the turn and the row", got)
		}
		s.keep(t, "a part", "state")
		checkShared(t, one("state", false), s.share(t, "x", "a", ""))
	}
}
