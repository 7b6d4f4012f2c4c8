package integration

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/eb50146d/rls/test/proc"
)

// clockedReplicas are two replicas of the build with a clock that tests set: it stands,
// 5 s later in the second one.
func clockedReplicas(t *testing.T, server *redisServer, rules string, args ...string) (replicas [2]*proc.RLS) {
	t.Helper()
	dir := t.TempDir()
	for i := range replicas {
		clock := filepath.Join(dir, strconv.Itoa(i))
		setClock(t, clock, time.Now().Unix()+5*int64(i))
		r, err := proc.StartRLSWith(t.Context(), programs.clocked, &programs.ports, rules, []string{"RLS_TEST_CLOCK=" + clock},
			append(server.backendArgs(), args...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Stop() }) //nolint:errcheck // how it ends is not the test's concern
		replicas[i] = r
	}
	return replicas
}

// TestAL09ClocksThatDiffer: replicas whose clocks are 5 s apart share each limit of
// every algorithm.
func TestAL09ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	replicas := clockedReplicas(t, startRedis(t), "testdata/exact")
	for _, key := range exactKeys {
		ok := 0
		for range 6 {
			for _, r := range replicas {
				ok += admitsHundred(t, r, key, "x")
			}
		}
		if ok != 10 {
			t.Errorf("%s: %d times 100 hits admitted, want 10 times", key, ok)
		}
	}
}

// admitsHundred is 1 if 100 hits of a rule of testdata/exact are admitted at once.
func admitsHundred(t *testing.T, r *proc.RLS, key, value string) int {
	t.Helper()
	a, err := sendRaw(t.Context(), r, withHits(encode("exact", []string{key, value}), 100))
	if err != nil {
		t.Fatal(err)
	}
	if a.GetOverallCode() == rlspb.RateLimitResponse_OK {
		return 1
	}
	return 0
}

// TestAL09TheEdgeIsRedis: replicas whose clocks are 5 s apart are asked by turns over
// some edges of a window: each second of Redis grants its limit. Both say that a minute
// ends when it does there, in whole seconds.
func TestAL09TheEdgeIsRedis(t *testing.T) {
	t.Parallel()
	const limit, seconds = 20, 4
	server := startRedis(t)
	replicas := clockedReplicas(t, server, rulesOf(t, `domain: t
descriptors:
  - {key: fixed, rate_limit: {algorithm: fixed_window, requests_per_unit: 20, unit: second}}
  - {key: minute, rate_limit: {algorithm: fixed_window, requests_per_unit: 20, unit: minute}}
  - {key: log, rate_limit: {algorithm: sliding_window, variant: log, requests_per_unit: 20, unit: second}}
`), "--over-limit-cache=false")
	now := func() time.Time { return server.client.Time(t.Context()).Val() }
	ask := func(replica int, key string) (a *rlspb.RateLimitResponse, before, after time.Time) {
		t.Helper()
		before = now()
		a, err := sendRaw(t.Context(), replicas[replica], encode("t", []string{key, "x"}))
		if err != nil {
			t.Fatal(err)
		}
		return a, before, now()
	}
	for replica := range replicas {
		a, before, after := ask(replica, "minute")
		ends := a.GetStatuses()[0].GetDurationUntilReset().AsDuration()
		if after.Add(ends).Truncate(time.Minute).Before(before.Add(ends - time.Second)) {
			t.Errorf("between %v and %v replica %d says that the minute ends in %v", before, after, replica, ends)
		}
	}
	for _, key := range []string{"fixed", "log"} {
		counts := map[int64]*second{}
		tick := time.NewTicker(5 * time.Millisecond)
		for n := 0; len(counts) < seconds; n++ {
			a, before, after := ask(n%2, key)
			for at := before.Unix(); at <= after.Unix(); at++ {
				if counts[at] == nil {
					counts[at] = &second{}
				}
				counts[at].count(a.GetOverallCode() == rlspb.RateLimitResponse_OK, before.Unix() == after.Unix())
			}
			<-tick.C
		}
		tick.Stop()
		for at, c := range counts {
			if c.granted > limit || key == "fixed" && c.granted+c.unsure < min(c.asked, limit) {
				t.Errorf("%s: second %d grants %d, perhaps %d more, of %d hits, want %d", key, at, c.granted, c.unsure, c.asked, min(c.asked, limit))
			}
		}
	}
}

// second counts hits of a second. Those near an edge may be of either one.
type second struct{ asked, granted, unsure int }

func (s *second) count(ok, sure bool) {
	switch {
	case !sure:
		s.unsure++
	case ok:
		s.asked++
		s.granted++
	default:
		s.asked++
	}
}
