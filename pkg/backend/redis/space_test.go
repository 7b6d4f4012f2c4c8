package redis_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestRD05Expiries heals keys without expiry, and wants the right one of others.
func TestRD05Expiries(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, shared.shared, redis.Options{})
			r := newRule(t, p)
			check := func(when string) {
				t.Helper()
				_, answers := s.decide(t, backend.Look, ask("k", r, 0))
				ttl, err := s.client.PTTL(t.Context(), s.prefix+"1{}k").Result()
				if over := ttl - answers[0].ResetAfter; over < 0 || over > time.Minute || err != nil {
					t.Errorf("%s the key outlives what it says by %v (error %v)", when, over, err)
				}
			}
			s.admitted(t, 1, ask("k", r, 5))
			check("after a charge")
			for when, hits := range map[string]int64{"after a refusal": 1, "after a look": 0} {
				for _, others := range [][]backend.Ask{nil, {ask("other", r, 1)}} {
					s.plant(t, "k", func(key string) error { return s.client.Persist(t.Context(), key).Err() })
					s.admitted(t, 1, append(others, ask("k", r, hits))...)
					check(when)
				}
			}
			s.admitted(t, 1, ask("k", r, -2))
			check("after a refund")
			s.admitted(t, 1, ask("k", r, -5), ask("other", r, -5))
			if keys := s.keys(t); len(keys) > 0 {
				t.Errorf("keys %q are left after a refund of everything", keys)
			}
		})
	}
}

// TestRD08Full wants a full server's errors named.
func TestRD08Full(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	s.checkPolicies(t)
	if errors := s.Stats().Errors; errors[redis.OutOfMemory] != 3 {
		t.Errorf("errors by kind are %v", errors)
	}
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if !s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("no decision although there is room")
	}
}

// TestRD08FullLater has memory run out between two charges: an error, whatever the
// kind, and the state is what it was.
func TestRD08FullLater(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	clock := backendtest.NewClock()
	s := open(t, server, redis.Options{Now: clock.Now})
	all := kinds(5, time.Hour)
	look := func(name string) backend.Answer {
		_, answers := s.decide(t, backend.Look, ask(name, newRule(t, all[name]), 0))
		return answers[0]
	}
	for name, p := range all {
		s.admitted(t, 1, ask(name, newRule(t, p), 2))
	}
	for _, later := range []time.Duration{0, time.Second} {
		clock.Advance(later)
		for name, p := range all {
			want := look(name)
			if err := s.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
			_, answers := s.decide(t, backend.AllOrNothing, ask(name, newRule(t, p), 1))
			if redis.KindOf(answers[0].Err) != redis.OutOfMemory {
				t.Errorf("%s, %v later: %+v", name, later, answers[0])
			}
			if err := s.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, look(name)); diff != "" {
				t.Errorf("%s, %v later (-want +got):\n%s", name, later, diff)
			}
		}
	}
}

// TestRD07NothingIsLeft floods a server with keys of short windows: a while later it
// is as it was.
func TestRD07NothingIsLeft(t *testing.T) {
	t.Parallel()
	const each = 1000
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	flood := func(from, keys int) {
		for name, p := range kinds(5, 100*time.Millisecond) {
			r := newRule(t, p)
			inParallel(16, func(g int) {
				for i := from + g; i < from+keys; i += 16 {
					s.decide(t, backend.AllOrNothing, ask(name+strconv.Itoa(i), r, 1))
				}
			})
		}
	}
	empty := func() bool { return s.client.DBSize(t.Context()).Val() == 0 }
	flood(0, 16)
	eventually(t, "no keys", empty)
	before := s.usedMemory(t)
	flood(each, each)
	eventually(t, "no keys", empty)
	if n := s.info(t, "stats", "expired_keys"); n < each*int64(len(kinds(1, time.Second))) {
		t.Errorf("%d keys have expired", n)
	}
	eventually(t, "the memory of before, and 5 % at most", func() bool { return s.usedMemory(t) < before+before/20 })
}

// TestRD08Eviction wants a warning, once, of a server that may evict keys.
func TestRD08Eviction(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	var warnings []string
	s := open(t, server, redis.Options{Warn: func(text string) { warnings = append(warnings, text) }})
	if err := s.client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "allkeys-lru") {
		t.Errorf("warnings are %q", warnings)
	}
}
