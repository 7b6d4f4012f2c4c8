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
	rls := startRLS(t, filepath.Join(programs.root, "test", "bench", "rules"))
	const keys, most = 1_000_000, 160 // bytes
	grown, err := proc.Growth(t.Context(), programs.load, rls, keys)
	if err != nil {
		t.Fatal(err)
	}
	if each := grown / keys; each > most {
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
