package integration

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/test/proc"
)

// startCluster starts three masters and gives their addresses. When the test ends it
// looks that every key expires.
func startCluster(t *testing.T) (addrs []string) {
	t.Helper()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := proc.StartRedisCluster(context.WithoutCancel(t.Context()), path, t.TempDir(), &programs.ports, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range cluster.Masters {
			checkExpiries(t, m)
		}
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, m := range cluster.Masters {
		addrs = append(addrs, m.Addr())
	}
	return addrs
}

// TestWC03RedisClusterIsExact: three replicas share each limit exactly on a cluster
// of three masters, all of which hold keys.
func TestWC03RedisClusterIsExact(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	exactly(t, "--backend", "redis", "--redis-url", "redis-cluster://"+strings.Join(addrs, ","), "--redis-budget", "10s")
	for _, addr := range addrs {
		client := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2})
		if len(keys(t, client)) == 0 {
			t.Errorf("master %s has no key", addr)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRedisCompatOnACluster: envoyproxy/ratelimit's counters are shared there, too.
func TestRedisCompatOnACluster(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	rules := rulesOf(t, `domain: exact
descriptors: [{key: k, rate_limit: {requests_per_unit: 1000, unit: year}}]
`)
	const each = 600
	var ok atomic.Int64
	var loads sync.WaitGroup
	for range 2 {
		r := startRLS(t, rules, "--backend", "redis", "--redis-type", "cluster", "--redis-url", addrs[0], "--redis-budget", "10s", "--compat", "envoyproxy")
		loads.Go(func() {
			got, err := proc.Load(t.Context(), programs.load, "-addr", proc.Loopback(r.GRPC), "-domain", "exact", "-key", "k", "-requests", strconv.Itoa(each))
			if err != nil || got.Failed > 0 {
				t.Errorf("%+v, %v", got, err)
			}
			ok.Add(got.OK)
		})
		if got := code(t, r, "exact", "k", "a", "k", "b", "k", "{c}", "k", "}{"); got != "OK" {
			t.Errorf("several slots: %s, want OK", got)
		}
	}
	loads.Wait()
	if ok.Load() != 1000 {
		t.Errorf("%d admitted, want 1000", ok.Load())
	}
}
