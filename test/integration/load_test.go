package integration

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/test/proc"
)

// TestExact has many callers race for one key: each algorithm admits its limit and
// no more. The algorithms take turns, since one alone uses the whole machine.
func TestExact(t *testing.T) {
	t.Parallel()
	rls := startRLS(t, "testdata/exact")
	const limit, workers, each = 1000, 64, 5000
	want := proc.LoadResult{OK: limit, Over: workers*each - limit}
	for _, key := range []string{
		"fixed_window_epoch", "fixed_window_first", "sliding_window_counter", "sliding_window_buckets", "sliding_window_log",
		"token_bucket", "leaky_bucket_meter", "leaky_bucket_queue", "gcra", "adaptive",
	} {
		t.Run(key, func(t *testing.T) {
			got := load(t, rls, "-domain", "exact", "-key", key, "-workers", strconv.Itoa(workers), "-requests", strconv.Itoa(workers*each))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMemory pins what a key costs, in the whole process.
func TestMemory(t *testing.T) {
	t.Parallel()
	rls := startRLS(t, filepath.Join(programs.root, "test/bench/rules"), "--local-max-keys", "2000000")
	const keys, most = 1_000_000, 160 // bytes
	load(t, rls, "-domain", "bench", "-key", "visitor", "-requests", "20000")
	before := rss(t, rls)
	got := load(t, rls, "-domain", "bench", "-key", "visitor", "-values", strconv.Itoa(keys), "-requests", strconv.Itoa(keys))
	if got.Failed > 0 {
		t.Errorf("%d requests failed, first: %s", got.Failed, got.FirstFault)
	}
	if each := (rss(t, rls) - before) / keys; each > most {
		t.Errorf("a key costs %d bytes, want at most %d", each, most)
	}
}

func load(t *testing.T, rls *proc.RLS, args ...string) proc.LoadResult {
	t.Helper()
	r, err := proc.Load(t.Context(), programs.load, append([]string{"-addr", proc.Loopback(rls.GRPC)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rss(t *testing.T, rls *proc.RLS) int64 {
	t.Helper()
	n, err := proc.RSS(rls.PID())
	if err != nil {
		t.Fatal(err)
	}
	return n
}
