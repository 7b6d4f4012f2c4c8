package compat_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
)

// TestLikeTheLocalBackend: counting refused hits, this store and that of the
// process answer alike, hits and refunds of all sizes.
func TestLikeTheLocalBackend(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{})
	other := local.New(local.Options{Now: s.clock.Now})
	defer other.Close() //nolint:errcheck // it has nothing to say
	rule := hourly(t, 5)
	for step, hits := range []int64{0, 3, 2, 0, 1, 0, -2, 1, 9, -100, 5, 1 << 40, 0, 1, -1 << 41, 5, 9, -1, -50, -1} {
		if step%5 == 0 {
			s.clock.Advance(time.Minute)
		}
		_, got := s.decide(ask("k", rule, hits))
		want := make([]backend.Answer, 1)
		other.Decide(t.Context(), &backend.Request{Charge: backend.CountRefused, Asks: []backend.Ask{ask("k", rule, hits)}}, want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %d, %d hits (-want +got):\n%s", step, hits, diff)
		}
	}
	s.clock.Advance(time.Hour)
	if _, got := s.decide(ask("k", rule, 1)); got[0].Used != 1 {
		t.Errorf("the next window holds %d, want 1", got[0].Used)
	}
}

// TestJitter: keys expire some time after their window, and all do.
func TestJitter(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{Jitter: 300})
	rule := hourly(t, 5)
	different := map[time.Duration]bool{}
	for i := range 20 {
		name := fmt.Sprint("k", i)
		s.decide(ask(name, rule, int64(i%3-1))) // a refund and a look, too
		ttl := s.client.TTL(t.Context(), s.key(name)).Val()
		different[ttl.Truncate(time.Second)] = true
		if name := s.client.Exists(t.Context(), s.key(name)).Val(); name == 1 && (ttl < time.Hour-time.Minute || ttl >= time.Hour+300*time.Second) {
			t.Errorf("expires in %v, want an hour and less than 300 s", ttl)
		}
	}
	if len(different) < 5 {
		t.Errorf("%d different expiries of 20", len(different))
	}
}

// TestStopIncrement: whatever is over stops the counters beside it, even one that
// is only known to be over, or in shadow.
func TestStopIncrement(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{StopIncrement: true, CacheBytes: 1 << 20})
	small, large := hourly(t, 1), hourly(t, 10)
	over := ask("over", small, 1)
	over.Mode = backend.Shadow
	for step, want := range []struct{ over, beside string }{{"1", "1"}, {"2", "1"}, {"2", "1"}} {
		if verdict, answers := s.decide(over, ask("beside", large, 1)); verdict != backend.OK || answers[1].Remaining != 9 {
			t.Errorf("step %d: verdict %d, %d remaining", step, verdict, answers[1].Remaining)
		}
		if s.held("over") != want.over || s.held("beside") != want.beside {
			t.Errorf("step %d: %s and %s, want %+v", step, s.held("over"), s.held("beside"), want)
		}
	}
	if s.decide(ask("beside", large, 1)); s.held("beside") != "2" {
		t.Errorf("alone it holds %s, want 2", s.held("beside"))
	}
	if s.decide(over, ask("beside", large, -1)); s.held("beside") != "1" {
		t.Errorf("after a refund it holds %s, want 1", s.held("beside"))
	}
}

// TestCache: what is known to be over is not asked for, for this limit and until a
// refund or the window's end.
func TestCache(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{CacheBytes: 1 << 20})
	rule := hourly(t, 2)
	type row struct {
		Verdict backend.Verdict
		Source  backend.Source
		Held    string
	}
	var got []row
	note := func(a backend.Ask) {
		verdict, answers := s.decide(a)
		got = append(got, row{verdict, answers[0].Source, s.held("k")})
	}
	for _, a := range []backend.Ask{
		ask("k", rule, 2), ask("k", rule, 1), ask("k", rule, 1), ask("k", rule, 0), ask("k", hourly(t, 4), 1), ask("k", rule, 1),
		ask("k", rule, -3), ask("k", rule, 1),
	} {
		note(a)
	}
	s.clock.Advance(time.Hour)
	note(ask("k", rule, 1))
	const ok, over, store, cache = backend.OK, backend.OverLimit, backend.FromStore, backend.FromCache
	want := []row{
		{ok, store, "2"},
		{over, store, "3"},
		{over, cache, "3"},
		{over, cache, "3"},
		{ok, store, "4"},
		{over, cache, "4"},
		{ok, store, "1"},
		{ok, store, "2"},
		{ok, store, "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCacheIsBounded by the bytes that its keys take.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{CacheBytes: 1000})
	rule := hourly(t, 1)
	const names = 50
	known := 0
	for range 2 {
		known = 0
		for i := range names {
			if _, answers := s.decide(ask(fmt.Sprint("k", i), rule, 2)); answers[0].Source == backend.FromCache {
				known++
			}
		}
	}
	if known > 10 { // 1000 bytes hold fewer
		t.Errorf("%d keys are remembered in 1,000 bytes", known)
	}
	_, answers := s.decide(ask("last", rule, 2), ask("last", rule, 2))
	if answers[0].Source != backend.FromStore {
		t.Error("a new key was known")
	}
	if _, answers = s.decide(ask("last", rule, 2)); answers[0].Source != backend.FromCache {
		t.Error("the newest key is not remembered")
	}
	long := strings.Repeat("x", 1000)
	for range 2 {
		if _, answers = s.decide(ask(long, rule, 2)); answers[0].Source != backend.FromStore {
			t.Error("a key longer than the cache is remembered")
		}
	}
}

// TestOverflow: a counter at the end of Redis' numbers is over its limit.
func TestOverflow(t *testing.T) {
	t.Parallel()
	s := open(t, compat.Options{})
	s.client.Set(t.Context(), s.key("k"), int64(math.MaxInt64), time.Minute)
	if verdict, answers := s.decide(ask("k", hourly(t, 5), 1)); verdict != backend.OverLimit || answers[0].Err != nil {
		t.Errorf("verdict %d, %v", verdict, answers[0].Err)
	}
	for _, hits := range []int64{math.MinInt64, math.MaxInt64, math.MinInt64} {
		want := map[bool]backend.Verdict{true: backend.OverLimit, false: backend.OK}[hits > 0]
		if verdict, answers := s.decide(ask("extreme", hourly(t, 5), hits)); verdict != want || answers[0].Err != nil {
			t.Errorf("%d hits: verdict %d, want %d; %v", hits, verdict, want, answers[0].Err)
		}
	}
	s.client.Set(t.Context(), s.key("negative"), -7, time.Minute)
	if verdict, answers := s.decide(ask("negative", hourly(t, 5), 1)); verdict != backend.OK || answers[0].Remaining != 5 {
		t.Errorf("verdict %d, %+v", verdict, answers[0])
	}
}

// TestUnreachable: on_error decides, within the budget, and a key that holds
// something else fails alone.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	fallback := local.New(local.Options{})
	defer fallback.Close() //nolint:errcheck // it has nothing to say
	gone := open(t, compat.Options{Redis: redis.Options{Addrs: []string{"127.0.0.1:1"}, Local: fallback}, StopIncrement: true})
	plain := open(t, compat.Options{Redis: redis.Options{Addrs: []string{"127.0.0.1:1"}, Local: fallback}})
	for i, s := range []*subject{gone, plain} {
		for _, row := range []struct {
			name   string
			policy backend.OnError
			want   []backend.Verdict
		}{
			{"fail", backend.OnErrorFail, []backend.Verdict{backend.Failed, backend.Failed}},
			{"allow", backend.OnErrorAllow, []backend.Verdict{backend.OK, backend.OK}},
			{"deny", backend.OnErrorDeny, []backend.Verdict{backend.OverLimit, backend.OverLimit}},
			{"local", backend.OnErrorLocal, []backend.Verdict{backend.OK, backend.OverLimit}},
		} {
			rule := hourly(t, 1)
			rule.OnError = row.policy
			var got []backend.Verdict
			for range 2 {
				verdict, answers := s.decide(ask(fmt.Sprint(row.name, i), rule, 1))
				got = append(got, verdict)
				if answers[0].Allowed != (verdict == backend.OK) {
					t.Errorf("%s: allowed %t, verdict %d", row.name, answers[0].Allowed, verdict)
				}
				if answers[0].Err == nil || answers[0].Source != backend.FromFallback {
					t.Errorf("%s: %v from %d, want an error from the fallback", row.name, answers[0].Err, answers[0].Source)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.name, diff)
			}
		}
		if s.Ready(t.Context()) == nil {
			t.Error("ready without Redis")
		}
	}

	s := open(t, compat.Options{})
	s.client.LPush(t.Context(), s.key("list"), 1)
	s.client.Expire(t.Context(), s.key("list"), time.Minute)
	if verdict, answers := s.decide(ask("list", hourly(t, 1), 1), ask("k", hourly(t, 1), 1)); verdict != backend.Failed || answers[0].Err == nil || answers[1].Err != nil {
		t.Errorf("verdict %d, %v, %v, want a failure of the first alone", verdict, answers[0].Err, answers[1].Err)
	}
}
