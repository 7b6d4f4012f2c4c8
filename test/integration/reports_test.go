package integration

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/test/proc"
)

// The tests named after a report, such as WC03, are those of cmd/rls/internal/reports
// that need processes.

// metric reads a metric without labels.
func metric(t *testing.T, r *proc.RLS, name string) float64 {
	t.Helper()
	_, _, text := request(t, r.HTTP, "GET", "/metrics", "")
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("/metrics has no %s", name)
	return 0
}

// TestWC03ThreeReplicas that keep states for themselves grant three times the
// limit, and not one hit more.
func TestWC03ThreeReplicas(t *testing.T) {
	t.Parallel()
	var replicas [3]*proc.RLS
	for i := range replicas {
		replicas[i] = startRLS(t, "testdata/exact")
	}
	const limit, each = 1000, 2000
	for _, key := range []string{
		"fixed_window_epoch", "fixed_window_first", "sliding_window_counter", "sliding_window_buckets", "sliding_window_log",
		"token_bucket", "leaky_bucket_meter", "leaky_bucket_queue", "gcra", "adaptive",
	} {
		t.Run(key, func(t *testing.T) {
			var ok, others atomic.Int64
			var loads sync.WaitGroup
			for _, r := range replicas {
				loads.Go(func() {
					got, err := proc.Load(t.Context(), programs.load, "-addr", proc.Loopback(r.GRPC), "-domain", "exact", "-key", key,
						"-conns", "20", "-workers", "20", "-requests", strconv.Itoa(each))
					if err != nil {
						t.Error(err)
					}
					ok.Add(got.OK)
					others.Add(got.Over)
				})
			}
			loads.Wait()
			if ok.Load() != 3*limit || others.Load() != 3*(each-limit) {
				t.Errorf("%d OK and %d OVER, want %d and %d", ok.Load(), others.Load(), 3*limit, 3*(each-limit))
			}
		})
	}
}

// TestWC08ARestartForgets what was used, and says so.
func TestWC08ARestartForgets(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, ruleFile(10))
	for _, uses := range []int{4, 10} {
		r := startRLS(t, rules)
		for range uses {
			a, err := sendRaw(t.Context(), r, encode("t", []string{"k", "1"}))
			if err != nil || a.GetOverallCode() != rlspb.RateLimitResponse_OK {
				t.Errorf("%v, %v, want OK", a.GetOverallCode(), err)
			}
		}
		if n := metric(t, r, "rls_state_resets_total"); n != 1 {
			t.Errorf("rls_state_resets_total is %v, want 1", n)
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(r.Output(), "every limit begins unused"); n != 1 {
			t.Errorf("%d log lines of the empty store, want 1", n)
		}
	}
}

// TestSE08StrangeBytesAndSizes get an answer or InvalidArgument, and strange values
// are limited like any other.
func TestSE08StrangeBytesAndSizes(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, ruleFile(1)), "--log-format", "json", "--log-level", "debug")
	for _, value := range []string{
		"", " a b ", "a\r\nb", "a\x00b", "\U0001F600", "\xff\xfe", "a\xffb", "\xed\xa0\x80", strings.Repeat("a", 64<<10), "2001:db8::1", "*", "\"'`$(x)%s",
	} {
		for _, want := range []rlspb.RateLimitResponse_Code{rlspb.RateLimitResponse_OK, rlspb.RateLimitResponse_OVER_LIMIT} {
			if a, err := sendRaw(t.Context(), r, encode("t", []string{"k", value})); err != nil || a.GetOverallCode() != want {
				t.Errorf("value %.20q: %v, %v, want %v", value, a.GetOverallCode(), err, want)
			}
		}
	}
	many := func(n int, pairs ...string) [][]string {
		all := make([][]string, n)
		for i := range all {
			all[i] = pairs
		}
		return all
	}
	deep := strings.Split(strings.Repeat("k x ", 200), " ")[:400]
	good := encode("t", []string{"k", "x"})
	for _, row := range []struct {
		name string
		wire []byte
		code codes.Code
	}{
		{"1,000 descriptors", encode("t", many(1000, "k", "x")...), codes.OK},
		{"5,000 descriptors", encode("t", many(5000, "k", "x")...), codes.InvalidArgument},
		{"200 entries", encode("t", deep), codes.OK},
		{"a key twice", encode("t", []string{"k", "x", "k", "y"}), codes.OK},
		{"an empty key", encode("t", []string{"", "x"}), codes.OK},
		{"no entries", encode("t", nil), codes.OK},
		{"no descriptors", encode("t"), codes.InvalidArgument},
		{"no domain", encode("", []string{"k", "x"}), codes.InvalidArgument},
		{"a strange domain", encode("\xff\x00\n", []string{"k", "x"}), codes.OK},
		{"a strange key", encode("t", []string{"\xff\x00\n", "x"}), codes.OK},
		{"half a message", good[:len(good)-1], codes.InvalidArgument},
		{"no message", []byte("GET / HTTP/1.1\r\n\r\n"), codes.InvalidArgument},
		{"a message over 1 MiB", encode("t", []string{"k", strings.Repeat("a", 1<<20)}), codes.ResourceExhausted}, // gRPC's own
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := sendRaw(t.Context(), r, row.wire); status.Code(err) != row.code {
				t.Errorf("%v, want %v", err, row.code)
			}
		})
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Output(), "panic") {
		t.Error("a panic is in the log")
	}
}
