package integration

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

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

// withHits adds the request's hits to its message.
func withHits(wire []byte, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(wire, 3, protowire.VarintType), n)
}
