package redis_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// posts are n names of a part each, and states of them.
func posts(n int) (all []redis.Post, states []redis.State) {
	for i := range n {
		name := fmt.Sprint("name", i)
		all = append(all, redis.Post{Name: name, Row: []byte("{}"), Parts: []string{"a part"}})
		states = append(states, redis.State{Name: name, Part: "a part", Data: []byte("{}")})
	}
	return all, states
}

// reads is how often the server has read from a client.
func (s *store) reads(t *testing.T) int {
	t.Helper()
	_, rest, _ := strings.Cut(s.client.Info(t.Context(), "stats").Val(), "total_reads_processed:")
	n := 0
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestShareTrips: however many names there are, they take one trip, by a connection
// that decisions do not use.
func TestShareTrips(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	s := open(t, server, redis.Options{})
	if !s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Fatal("no decision")
	}
	s.share(t, "x", "a", "") // the first one brings the script
	const names = 40
	all, states := posts(names)
	before := s.reads(t)
	sent := commands(t, server, func() {
		for _, got := range s.Share(t.Context(), "a", all, time.Hour) {
			if got.Err != nil {
				t.Error(got.Err)
			}
		}
		for _, err := range s.Keep(t.Context(), states) {
			if err != nil {
				t.Error(err)
			}
		}
	})
	// Redis reads 16 KiB at once, so the names' 10 and 4 take two or three reads; the
	// rest is the test's own.
	if got := s.reads(t) - before; got > 8 {
		t.Errorf("%d reads for %d names, want those of two trips", got, names)
	}
	from := map[string]bool{}
	for _, line := range sent {
		_, place, _ := strings.Cut(line, "[")
		from[place[:strings.IndexByte(place, ']')]] = true
	}
	if len(sent) != 2*names || len(from) != 1 {
		t.Errorf("%d commands on %d connections, want %d on one", len(sent), len(from), 2*names)
	}
	if got := s.Stats().Nodes[0].Connections; got != 2 {
		t.Errorf("%d connections, want one of decisions and one of sharing", got)
	}
}

// TestShareLeavesDecisions has many share while Redis answers nobody who does: that
// takes no connection from decisions.
func TestShareLeavesDecisions(t *testing.T) {
	t.Parallel()
	p := newProxy(t, shared.shared.Addr())
	s := openAt(t, redis.Options{Budget: patience, PoolSize: 1, KeyPrefix: shared.prefix()}, p.Addr())
	rule := yearly(t, backend.OnErrorFail)
	if !s.decides(t, rule) {
		t.Fatal("no decision")
	}
	p.Meddle(func(sent []byte) []byte {
		if sent[0] == '*' { // as the reply of share.lua begins
			return []byte{}
		}
		return sent
	})
	var sharing sync.WaitGroup
	all, _ := posts(1)
	for range 16 {
		sharing.Go(func() {
			for _, got := range s.Share(t.Context(), "a", all, time.Hour) {
				if got.Err == nil {
					t.Error("shared without an answer")
				}
			}
		})
	}
	for range 50 {
		if !s.decides(t, rule) {
			t.Error("no decision beside what is shared")
		}
	}
	sharing.Wait()
	if s.open() {
		t.Error("what is shared opens the breaker of decisions")
	}
}

func TestShareErrors(t *testing.T) {
	t.Parallel()
	s := openAt(t, redis.Options{}, "127.0.0.1:1")
	all, states := posts(2)
	for _, got := range s.Share(t.Context(), "a", all, time.Hour) {
		if redis.KindOf(got.Err) != redis.Unavailable {
			t.Errorf("error %v from a server that has gone", got.Err)
		}
	}
	for _, err := range s.Keep(t.Context(), states) {
		if redis.KindOf(err) != redis.Unavailable {
			t.Errorf("error %v from a server that has gone", err)
		}
	}
	full := open(t, ownServer(t), redis.Options{})
	full.share(t, "x", "a", "")
	if err := full.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if got := full.Share(t.Context(), "a", all, time.Hour); redis.KindOf(got[0].Err) != redis.OutOfMemory {
		t.Errorf("error %v from a server that is full", got[0].Err)
	}
}

// TestShareFindsSuccessor has the node of a name end that nobody asks for decisions,
// and another one take over its slots.
func TestShareFindsSuccessor(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	s := openCluster(t, c, redis.Options{})
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	all, _ := posts(20) // some of them on each
	shares := func() bool {
		ok := true
		for _, got := range s.Share(t.Context(), "a", all, time.Hour) {
			ok = ok && got.Err == nil
		}
		return ok
	}
	if !shares() {
		t.Fatal("not shared")
	}
	id := s.do(t, 0, "CLUSTER", "MYID")
	if err := c.Masters[0].Stop(); err != nil {
		t.Fatal(err)
	}
	if shares() {
		t.Error("shared with a server that has gone")
	}
	s.takeOver(t, id)
	eventually(t, "the successor", shares)
}
