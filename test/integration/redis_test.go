package integration

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eb50146d/rls/test/proc"
)

// exactKeys are the rules of testdata/exact, one of each algorithm.
var exactKeys = []string{ //nolint:gochecknoglobals // a constant list
	"fixed_window_epoch", "fixed_window_first", "sliding_window_counter", "sliding_window_buckets", "sliding_window_log",
	"token_bucket", "leaky_bucket_meter", "leaky_bucket_queue", "gcra", "adaptive",
}

// exactly spends 64 workers' requests on each of three replicas, for each
// algorithm, and wants 1,000 admitted in all.
func exactly(t *testing.T, args ...string) {
	t.Helper()
	const limit, each = 1000, 600
	var replicas [3]*proc.RLS
	for i := range replicas {
		replicas[i] = startRLS(t, "testdata/exact", args...)
	}
	for _, key := range exactKeys {
		var ok, over atomic.Int64
		var loads sync.WaitGroup
		for _, r := range replicas {
			loads.Go(func() {
				got, err := proc.Load(t.Context(), programs.load, "-addr", proc.Loopback(r.GRPC), "-domain", "exact", "-key", key,
					"-workers", "64", "-requests", strconv.Itoa(each))
				if err != nil || got.Failed > 0 {
					t.Errorf("%s: %+v, %v", key, got, err)
				}
				ok.Add(got.OK)
				over.Add(got.Over)
			})
		}
		loads.Wait()
		if ok.Load() != limit || over.Load() != 3*each-limit {
			t.Errorf("%s: %d OK and %d OVER, want %d and %d", key, ok.Load(), over.Load(), limit, 3*each-limit)
		}
	}
}

// TestWC03RedisIsExact: three replicas on one Redis share each limit exactly.
func TestWC03RedisIsExact(t *testing.T) {
	t.Parallel()
	exactly(t, startRedis(t).backendArgs()...)
}

// TestWC08RedisSurvivesARollingRestart, and a replica whose clock is wrong counts
// by the clock of Redis.
func TestWC08RedisSurvivesARollingRestart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rules := rulesOf(t, ruleFile(10))
	clock := filepath.Join(t.TempDir(), "clock")
	ok := 0
	for i, uses := range []int{4, 3, 9} {
		setClock(t, clock, time.Now().Unix()+5*int64(i)-5)
		r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, rules, []string{"RLS_TEST_CLOCK=" + clock}, server.backendArgs()...)
		if err != nil {
			t.Fatal(err)
		}
		ok += admits(t, r, uses, "t", "k", "1")
		if n := metric(t, r, "rls_state_resets_total"); n != 0 {
			t.Errorf("rls_state_resets_total is %v, want 0", n)
		}
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(r.Output(), "every limit begins unused") {
			t.Error("the log says that limits begin unused")
		}
	}
	if ok != 10 {
		t.Errorf("%d admitted, want 10", ok)
	}
}

// TestRedisClocksThatDiffer: replicas whose clocks are 5 s apart agree, since
// Redis' decides.
func TestRedisClocksThatDiffer(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	dir := t.TempDir()
	var replicas [2]*proc.RLS
	for i := range replicas {
		clock := filepath.Join(dir, strconv.Itoa(i))
		setClock(t, clock, time.Now().Unix()-5*int64(i))
		r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, "testdata/exact", []string{"RLS_TEST_CLOCK=" + clock}, server.backendArgs()...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Stop() }) //nolint:errcheck // how it ends is not the test's concern
		replicas[i] = r
	}
	for _, key := range exactKeys {
		ok := 0
		for range 6 {
			for _, r := range replicas {
				a, err := sendRaw(t.Context(), r, withHits(encode("exact", []string{key, "x"}), 100))
				if err != nil {
					t.Fatal(err)
				}
				if a.GetOverallCode().String() == "OK" {
					ok++
				}
			}
		}
		if ok != 10 {
			t.Errorf("%s: %d times 100 hits admitted, want 10 times", key, ok)
		}
	}
}

// TestRedisReload: a changed limit keeps what was used, another family begins anew
// on a key of its own, and nothing fails.
func TestRedisReload(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	rule := func(algorithm string, limit int) string {
		return fmt.Sprintf("domain: t\ndescriptors: [{key: k, rate_limit: {algorithm: %s, requests_per_unit: %d, period: 365d}}]\n", algorithm, limit)
	}
	f := newFolder(t, "rules.yaml", rule("fixed_window", 10))
	r := startRLS(t, f.dir, server.backendArgs()...)
	spend := func(what string, want int) {
		t.Helper()
		if ok := admits(t, r, 20, "t", "k", "1"); ok != want {
			t.Errorf("%s: %d admitted, want %d", what, ok, want)
		}
	}
	version := 1
	becomes := func(text string) {
		t.Helper()
		version++
		f.put("rules.yaml", text)
		eventually(t, "the rules", func() bool {
			_, _, body := request(t, r.Admin, "GET", "/config", "")
			return strings.Contains(body, fmt.Sprintf(`"version":%d,`, version))
		})
	}
	spend("10 at first", 10)
	becomes(rule("fixed_window", 15))
	spend("5 more", 5) // at once, although refusals are remembered
	for _, algorithm := range []string{"sliding_window", "sliding_window, variant: log", "gcra"} {
		becomes(rule(algorithm, 7))
		spend(algorithm, 7)
	}
	becomes(rule("token_bucket", 7))
	spend("the same family", 0)
	becomes(rule("fixed_window", 15))
	spend("back again", 0)
	if n := len(keys(t, server.client)); n != 4 {
		t.Errorf("%d keys, want one for each family, 4", n)
	}
	if text := r.Output(); strings.Contains(text, "did not decide") || strings.Contains(text, "WRONGTYPE") {
		t.Errorf("a request failed:\n%s", text)
	}
}

// withHits adds the request's hits to its message.
func withHits(wire []byte, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(wire, 3, protowire.VarintType), n)
}
