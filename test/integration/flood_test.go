package integration

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/eb50146d/rls/test/proc"
)

const (
	floodValues = 1_000_000
	perKey      = 160      // bytes that a key may take
	slack       = 48 << 20 // bytes for connections, buffers and garbage
)

// flood asks once for each of floodValues values of k, a hundred a request.
func flood(t *testing.T, r *proc.RLS) {
	t.Helper()
	const each, callers = 100, 4
	const blank = "______" // for the request's number
	values := make([][]string, each)
	for i := range values {
		values[i] = []string{"k", blank + strconv.Itoa(i)}
	}
	template := encode("t", values...)
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= floodValues/each; n = next.Add(1) {
				wire := bytes.ReplaceAll(template, []byte(blank), fmt.Appendf(nil, "%0*d", len(blank), n))
				if err := invoke(t.Context(), r, wire, unread{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestSE02AFloodForgivesNobody: a client at its limit stays there while a million
// others come, whose states last longer, and the store has room for one in a hundred.
func TestSE02AFloodForgivesNobody(t *testing.T) {
	t.Parallel()
	const most = 10_000
	const rules = `domain: t
descriptors:
  - {key: limited, rate_limit: {algorithm: gcra, requests_per_unit: 5, unit: hour}}
  - {key: k, rate_limit: {algorithm: gcra, requests_per_unit: 100, unit: year}}
`
	r := startRLS(t, rulesOf(t, rules), "--local-max-keys", strconv.Itoa(most))
	hit := []string{"limited", "K"}
	if a, err := sendRaw(t.Context(), r, encode("t", hit, hit, hit, hit, hit)); err != nil || a.GetOverallCode() != rlspb.RateLimitResponse_OK {
		t.Fatalf("%v, %v, want OK", a.GetOverallCode(), err)
	}
	before, err := proc.RSS(r.PID())
	if err != nil {
		t.Fatal(err)
	}
	flood(t, r)
	if a, err := sendRaw(t.Context(), r, encode("t", hit)); err != nil || a.GetOverallCode() != rlspb.RateLimitResponse_OVER_LIMIT {
		t.Errorf("after the flood: %v, %v, want OVER_LIMIT", a.GetOverallCode(), err)
	}
	within(t, r, before, most)
	if metric(t, r, "rls_local_evictions_total") == 0 {
		t.Error("no eviction was counted")
	}
}

// within checks that keys and memory keep to a cap of keys.
func within(t *testing.T, r *proc.RLS, before int64, most int) {
	t.Helper()
	after, err := proc.RSS(r.PID())
	if err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown > int64(most)*perKey+slack {
		t.Errorf("the process grew by %d bytes, want at most %d for %d keys and %d beside", grown, most*perKey, most, slack)
	}
	if keys := metric(t, r, "rls_local_keys"); keys > float64(most) {
		t.Errorf("%v keys, want at most %d", keys, most)
	}
}

// TestSE03KeysGoWhenTheyExpire: a million keys of a second each leave nothing.
func TestSE03KeysGoWhenTheyExpire(t *testing.T) {
	t.Parallel()
	const most = 50_000
	rule := "domain: t\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 10, unit: second}}]\n"
	r := startRLS(t, rulesOf(t, rule), "--local-max-keys", strconv.Itoa(most))
	before, err := proc.RSS(r.PID())
	if err != nil {
		t.Fatal(err)
	}
	base := metric(t, r, "rls_local_memory_bytes")
	flood(t, r)
	within(t, r, before, most)
	if metric(t, r, "rls_local_memory_bytes") <= base {
		t.Error("rls_local_memory_bytes did not grow")
	}
	if err := r.Await(t.Context(), func(context.Context) error {
		if keys := metric(t, r, "rls_local_keys"); keys > 0 {
			return fmt.Errorf("%v keys are left", keys)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if now := metric(t, r, "rls_local_memory_bytes"); now != base {
		t.Errorf("rls_local_memory_bytes is %v after all keys went, want %v", now, base)
	}
}
