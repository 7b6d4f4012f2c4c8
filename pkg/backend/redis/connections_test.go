package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestLT05IdleConnections cuts connections between requests.
func TestLT05IdleConnections(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: patience, KeyPrefix: "idle"}, p.Addr())
	for i := range 10 {
		if _, answers := s.decide(t, backend.AllOrNothing, ask("k", yearly(t, backend.OnErrorFail), 1)); answers[0].Err != nil {
			t.Errorf("request %d: %v", i, answers[0].Err)
		}
		p.Drop()
	}
}

// TestLT05KeptAlive has nobody ask: the connection is used all the same, before what
// lies between forgets it.
func TestLT05KeptAlive(t *testing.T) {
	t.Parallel()
	s := open(t, ownServer(t), redis.Options{})
	if err := s.client.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a ping", func() bool { return s.calls(t, "ping") > 0 })
}

// TestRD11NoStorm has a server end that twenty processes use: they try it again less
// and less often, however much they are asked, and it is found again.
func TestRD11NoStorm(t *testing.T) {
	t.Parallel()
	const processes = 20
	server := ownServer(t)
	p := newProxy(t, server.Addr())
	var all [processes]*store
	rule := yearly(t, backend.OnErrorFail)
	for i := range all {
		all[i] = openAt(t, redis.Options{}, p.Addr())
		eventually(t, "a decision", func() bool { return all[i].decides(t, rule) })
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		eventually(t, "an open breaker", func() bool { return !s.decides(t, rule) && s.open() })
	}
	before, start := p.Opened(), time.Now()
	for time.Since(start) < 2*time.Second {
		inParallel(processes, func(i int) {
			if all[i].decides(t, rule) {
				t.Error("a decision without a server")
			}
			time.Sleep(time.Millisecond)
		})
	}
	// The waits are 25 ms at least, each twice the one before up to half a second.
	most := processes * (6 + time.Since(start).Milliseconds()/500)
	if got := p.Opened() - before; got > most || got == 0 {
		t.Errorf("%d connections were tried, want some and at most %d", got, most)
	}
	p.Lead(ownServer(t).Addr())
	before = p.Opened()
	for _, s := range all {
		eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	}
	if got := p.Opened() - before; got > processes*redis.DefaultPoolSize {
		t.Errorf("%d connections were made, want at most %d", got, processes*redis.DefaultPoolSize)
	}
}

// TestRD10NoLeak opens and closes many backends.
func TestRD10NoLeak(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	for range 50 {
		r, err := redis.New(redis.Options{Addrs: []string{server.Addr()}, Budget: patience})
		if err != nil {
			t.Fatal(err)
		}
		if !(&store{Redis: r}).decides(t, yearly(t, backend.OnErrorFail)) {
			t.Error("no decision")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "one connection", func() bool {
		return strings.Count(s.client.ClientList(t.Context()).Val(), "\n") == 1
	})
}
