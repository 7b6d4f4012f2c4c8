package integration

import (
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"
	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/test/proc"
)

// redisCase is a conformance case about the keys in Redis.
type redisCase struct {
	testCase `yaml:",inline"`

	After struct {
		Keys            map[string]int64
		SecondRedisKeys map[string]int64 `yaml:"second_redis_keys"`
		TTLSeconds      map[string]int64 `yaml:"ttl_seconds"`
	}
}

// TestRedisCompat: keys, counters and expiries are those of the program to replace.
func TestRedisCompat(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/cases/07-redis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []redisCase }
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 7 {
		t.Fatalf("%d cases, want 7", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			first, second := startRedis(t), startRedis(t)
			c.Env = withRedis(c.Env, first, second)
			for range 3 { // keys of one second may have gone before they are looked at
				c.run(t, "--compat", "envoyproxy", "--redis-budget", "10s")
				if c.complete(t, first, second) {
					break
				}
				first.client.FlushAll(t.Context())
				second.client.FlushAll(t.Context())
			}
			c.check(t, first, second)
		})
	}
}

// complete says whether no key is missing.
func (c *redisCase) complete(t *testing.T, first, second *redisServer) bool {
	t.Helper()
	return len(keys(t, first.client)) == len(c.After.Keys) && len(keys(t, second.client)) == len(c.After.SecondRedisKeys)
}

func (c *redisCase) check(t *testing.T, first, second *redisServer) {
	t.Helper()
	if diff := cmp.Diff(c.After.Keys, counters(t, first.client)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.After.SecondRedisKeys, counters(t, second.client)); diff != "" {
		t.Errorf("keys in the second Redis (-want +got):\n%s", diff)
	}
	for key, want := range c.After.TTLSeconds {
		ttl, most := first.client.PTTL(t.Context(), key).Val(), time.Duration(want)*time.Second
		if ttl > most || ttl < most-time.Minute || ttl <= 0 && most > time.Second {
			t.Errorf("key %q expires in %v, want %v", key, ttl, most)
		}
	}
}

// withRedis says where Redis is with the variables of envoyproxy/ratelimit.
func withRedis(env map[string]string, first, second *redisServer) map[string]string {
	all := map[string]string{
		"BACKEND_TYPE": "redis", "REDIS_SOCKET_TYPE": "tcp", "REDIS_TYPE": "SINGLE",
		"REDIS_URL": first.Addr(), "REDIS_PERSECOND_SOCKET_TYPE": "tcp", "REDIS_PERSECOND_URL": second.Addr(),
	}
	maps.Copy(all, env)
	return all
}

// counters are all keys with their numbers; nil if there are none.
func counters(t *testing.T, c *goredis.Client) map[string]int64 {
	t.Helper()
	var all map[string]int64
	for _, key := range keys(t, c) {
		n, err := c.Get(t.Context(), key).Int64()
		if errors.Is(err, goredis.Nil) {
			continue // it has just gone
		}
		if err != nil {
			t.Errorf("key %q: %v", key, err)
		}
		if all == nil {
			all = map[string]int64{}
		}
		all[key] = n
	}
	return all
}

// TestRedisCompatMixed: rls and another program that counts as envoyproxy/ratelimit
// does share one counter, and not a hit more than the limit passes.
func TestRedisCompatMixed(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const limit, hits = 1000, 1500
	rules := (&testCase{Config: `domain: exact
descriptors: [{key: k, rate_limit: {requests_per_unit: 1000, unit: year}}]
`}).write(t)
	var replicas [2]*proc.RLS
	for i := range replicas {
		replicas[i] = startRLS(t, rules, append(server.backendArgs(), "--compat", "envoyproxy")...)
	}
	const year = 365 * 24 * 3600
	key := "exact_k_000000000_" + strconv.FormatInt(time.Now().Unix()/year*year, 10)
	var ok atomic.Int64
	var writers sync.WaitGroup
	for _, r := range replicas {
		writers.Go(func() {
			got, err := proc.Load(t.Context(), programs.load, "-addr", proc.Loopback(r.GRPC), "-domain", "exact", "-key", "k",
				"-requests", strconv.Itoa(hits))
			if err != nil || got.Failed > 0 {
				t.Errorf("%+v, %v", got, err)
			}
			ok.Add(got.OK)
		})
	}
	writers.Go(func() {
		for range hits {
			pipe := server.client.Pipeline()
			after := pipe.IncrBy(t.Context(), key, 1)
			pipe.Expire(t.Context(), key, year*time.Second)
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Error(err)
			}
			if after.Val() <= limit {
				ok.Add(1)
			}
		}
	})
	writers.Wait()
	if ok.Load() != limit {
		t.Errorf("%d admitted, want %d", ok.Load(), limit)
	}
	if diff := cmp.Diff(map[string]int64{key: 3 * hits}, counters(t, server.client)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestRedisCompatBeside: a rule that names an algorithm keeps its own counting and
// keys in the same request.
func TestRedisCompatBeside(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := startRLS(t, (&testCase{Config: `domain: t
descriptors:
  - {key: theirs, rate_limit: {requests_per_unit: 2, unit: year}}
  - {key: ours, rate_limit: {algorithm: fixed_window, requests_per_unit: 3, unit: year}}
  - {key: odd, rate_limit: {requests_per_unit: 1, period: 1500ms}}
`}).write(t), append(server.backendArgs(), "--compat", "envoyproxy")...)
	var got []string
	for range 4 {
		got = append(got, code(t, r, "t", "theirs", "x", "ours", "x"))
	}
	if diff := cmp.Diff([]string{"OK", "OK", "OVER_LIMIT", "OVER_LIMIT"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if c := code(t, r, "t", "odd", "x"); c != "OK" {
		t.Errorf("a window that does not begin at whole seconds: %s, want OK", c)
	}
	var theirs, ours int
	for _, key := range keys(t, server.client) {
		switch {
		case strings.HasPrefix(key, "t_odd"):
			t.Errorf("key %q is in a form that has whole seconds", key)
		case strings.HasPrefix(key, "t_theirs_x_"):
			theirs++
			if n := server.client.Get(t.Context(), key).Val(); n != "4" {
				t.Errorf("their counter is %s, want 4: refused hits count", n)
			}
		case strings.HasPrefix(key, "rls") && strings.Contains(key, "ours"):
			ours++
			if value := server.client.Get(t.Context(), key).Val(); !strings.HasSuffix(value, " 3") {
				t.Errorf("our state is %q, want a count of 3", value)
			}
		}
	}
	if theirs != 1 || ours != 1 {
		t.Errorf("%d keys of theirs and %d of ours, want one each", theirs, ours)
	}
}
