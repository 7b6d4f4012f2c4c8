package compat_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
	"github.com/eb50146d/rls/test/proc"
)

// TestNext: asks without a Legacy key are for the backend behind, beside others or
// alone, and so is every look.
func TestNext(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{})
	theirs, ours := ask("theirs", hourly(t, 5), 3), ask("ours", hourly(t, 5), 3)
	ours.Legacy = nil
	var got []int64 // used after each request
	for _, asks := range [][]backend.Ask{{ours, theirs}, {theirs, ours}, {ours}, {theirs}} {
		if _, answers := s.decide(asks...); answers[0].Err != nil {
			t.Error(answers[0].Err)
		} else {
			for _, a := range answers {
				got = append(got, a.Used)
			}
		}
	}
	answers := make([]backend.Answer, 1)
	s.Decide(t.Context(), &backend.Request{Charge: backend.Look, Asks: []backend.Ask{theirs}}, answers)
	got = append(got, answers[0].Used) // the backend behind knows nothing of theirs
	if diff := cmp.Diff([]int64{3, 3, 6, 6, 9, 9, 3}, got); diff != "" {
		t.Errorf("hits that are held (-want +got):\n%s", diff)
	}
	if s.held("theirs") != "9" || s.held("ours") != "" {
		t.Errorf("%q and %q are held here, want 9 and nothing", s.held("theirs"), s.held("ours"))
	}
}

// TestPerSecond: counters of one second are in the other Redis.
func TestPerSecond(t *testing.T) {
	t.Parallel()
	const database = 5
	other := &redis.Options{Addrs: []string{server.Addr()}, Database: database, Budget: time.Minute}
	s := open(t, compat.Options{PerSecond: other})
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, DB: database})
	defer client.Close() //nolint:errcheck // it has answered
	limit, err := algorithms.New(algorithms.Params{Kind: algorithms.FixedWindow, Limit: 5, Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	second := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail, CountRefused: true}
	if verdict, answers := s.decide(ask("short", second, 2), ask("long", hourly(t, 5), 3)); verdict != backend.OK || answers[0].Used != 2 || answers[1].Used != 3 {
		t.Errorf("verdict %d: %+v", verdict, answers)
	}
	short := fmt.Sprintf("%sshort_%d", s.prefix, s.clock.Now()/int64(time.Second))
	if here, there := s.client.Exists(t.Context(), short).Val(), client.Exists(t.Context(), s.key("long")).Val(); here+there != 0 {
		t.Errorf("%d counters of a second and %d of an hour are in the wrong Redis", here, there)
	}
	if ttl := client.TTL(t.Context(), short).Val(); ttl == -1 {
		t.Error("a counter of a second never expires")
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	other.Addrs = []string{"127.0.0.1:1"}
	if half := open(t, compat.Options{PerSecond: other}); half.Ready(t.Context()) == nil {
		t.Error("ready without the other Redis")
	}
}

// through is a Store that meets the server through a proxy.
func through(t *testing.T, o redis.Options) (*subject, *proc.Proxy) {
	t.Helper()
	p, err := proc.NewProxy(t.Context(), server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Addrs = []string{p.Addr()}
	return open(t, compat.Options{Redis: o}), p
}

// TestLT01Silent: a Redis that says nothing costs a caller the budget.
func TestLT01Silent(t *testing.T) {
	t.Parallel()
	s, p := through(t, redis.Options{Budget: 50 * time.Millisecond})
	p.Meddle(func([]byte) []byte { return []byte{} })
	if verdict, answers := s.decide(ask("k", hourly(t, 5), 1)); verdict != backend.Failed || answers[0].Err == nil {
		t.Errorf("verdict %d: %+v", verdict, answers[0])
	}
}

// TestCut: a command whose reply is lost is not sent again.
func TestCut(t *testing.T) {
	t.Parallel()
	s, p := through(t, redis.Options{Budget: time.Minute})
	rule := hourly(t, 5)
	s.decide(ask("k", rule, 1))
	var cut atomic.Bool
	p.Meddle(func(sent []byte) []byte {
		if sent[0] == ':' && cut.CompareAndSwap(false, true) {
			return nil
		}
		return sent
	})
	if verdict, answers := s.decide(ask("k", rule, 1)); verdict != backend.Failed {
		t.Errorf("verdict %d: %+v", verdict, answers[0])
	}
	if held := s.held("k"); held != "2" {
		t.Errorf("%s hits are counted, want 2", held)
	}
}

// TestSentinelPassword is asked for when the Store is made.
func TestSentinelPassword(t *testing.T) {
	t.Parallel()
	want := errors.New("no such file")
	_, err := compat.New(compat.Options{Redis: redis.Options{
		Mode: redis.Sentinel, Master: "m", Addrs: []string{"127.0.0.1:1"},
		SentinelCredentials: func() (string, string, error) { return "", "", want },
	}})
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}
