package integration

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/eb50146d/rls/test/proc"
)

// TestWC08RedisSurvivesARollingRestart: three replicas are replaced one after another,
// and each limit of every algorithm goes on as if nothing had happened.
func TestWC08RedisSurvivesARollingRestart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	start := func() *proc.RLS { return startRLS(t, "testdata/exact", server.backendArgs()...) }
	replicas := [3]*proc.RLS{start(), start(), start()}
	ok := map[string]int{}
	spend := func() {
		for _, key := range exactKeys {
			for _, r := range replicas {
				ok[key] += admitsHundred(t, r, key, "x")
			}
		}
	}
	spend()
	for i, old := range replicas {
		replicas[i] = start()
		if err := old.Stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(old.Output(), "every limit begins unused") || strings.Contains(old.Output(), "did not decide") {
			t.Errorf("replica %d says:\n%s", i, old.Output())
		}
		if n := metric(t, replicas[i], "rls_state_resets_total"); n != 0 {
			t.Errorf("rls_state_resets_total is %v, want 0", n)
		}
		spend()
	}
	for _, key := range exactKeys {
		if ok[key] != 10 {
			t.Errorf("%s: %d times 100 hits admitted, want 10 times", key, ok[key])
		}
	}
}

// TestUP02RollOut: the old and the new replicas of a roll-out that changes the
// algorithm share traffic. Each family grants its limit once, those that share their
// states share it, and nobody stumbles over what the others keep.
func TestUP02RollOut(t *testing.T) {
	t.Parallel()
	const limit = 10
	algorithms := []string{
		"fixed_window", "sliding_window", "sliding_window, buckets: 5", "sliding_window, variant: log", "gcra", "token_bucket",
	}
	rules := func(shift int) string {
		var text strings.Builder
		text.WriteString("domain: t\ndescriptors:\n")
		for i := range algorithms {
			fmt.Fprintf(&text, "  - {key: k%d, rate_limit: {algorithm: %s, requests_per_unit: %d, period: 365d}}\n",
				i, algorithms[(i+shift)%len(algorithms)], limit)
		}
		return rulesOf(t, text.String())
	}
	server := startRedis(t)
	before, after := startRLS(t, rules(0), server.backendArgs()...), startRLS(t, rules(1), server.backendArgs()...)
	for i, algorithm := range algorithms {
		key := fmt.Sprintf("k%d", i)
		ok := 0
		for range 2 * limit {
			ok += admits(t, before, 1, key, "x") + admits(t, after, 1, key, "x")
		}
		want := 2 * limit
		if algorithm == "gcra" { // its successor here is token_bucket
			want = limit
		}
		if ok != want {
			t.Errorf("%s and its successor: %d admitted, want %d", algorithm, ok, want)
		}
		if ok := admits(t, after, 2, key, "x"); ok != 0 {
			t.Errorf("after %s: %d more admitted", algorithm, ok)
		}
	}
	for _, r := range []*proc.RLS{before, after} {
		if text := r.Output(); strings.Contains(text, "did not decide") || strings.Contains(text, "WRONGTYPE") {
			t.Errorf("a request failed:\n%s", text)
		}
	}
}

// TestRD05Kills: replicas die in the middle of requests of every algorithm, again and
// again. What they leave expires, and was granted once at most.
func TestRD05Kills(t *testing.T) {
	t.Parallel()
	const limit = 1000
	server := startRedis(t)
	var granted [10]atomic.Int64 // by algorithm
	for range 4 {
		r := startRLS(t, "testdata/exact", server.backendArgs()...)
		var answers atomic.Int64
		var callers sync.WaitGroup
		for i, key := range exactKeys {
			callers.Go(func() {
				for {
					a, err := sendRaw(t.Context(), r, encode("exact", []string{key, "000000000"}))
					if err != nil {
						return // it has been killed
					}
					if a.GetOverallCode() == rlspb.RateLimitResponse_OK {
						granted[i].Add(1)
					}
					answers.Add(1)
				}
			})
		}
		eventually(t, "300 answers", func() bool { return answers.Load() >= 300 })
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
	}
	for _, key := range keys(t, server.client) {
		const longest = 2*365*24*time.Hour + time.Minute // a sliding counter's second window
		if ttl := server.client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > longest {
			t.Errorf("key %q expires in %v", key, ttl)
		}
	}
	r := startRLS(t, "testdata/exact", server.backendArgs()...)
	for i, key := range exactKeys {
		granted[i].Add(load(t, r, "-domain", "exact", "-key", key, "-requests", strconv.Itoa(limit)).OK)
		if n := granted[i].Load(); n > limit || n < limit-100 { // a hit whose answer was lost may count
			t.Errorf("%s: %d admitted, want %d but for answers that were lost", key, n, limit)
		}
	}
}
