package integration

import (
	"strconv"
	"strings"
	"testing"
)

// scriptCalls is how many calls of the script rls sends during a run; nothing else is
// sent but pings, and once a second what replicas share of an adaptive limit.
func scriptCalls(t *testing.T, server *redisServer, run func()) (n int) {
	t.Helper()
	sent, err := server.Commands(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range sent {
		switch {
		case strings.Contains(line, "rls1ad{"):
		case strings.Contains(line, `"evalsha"`):
			n++
		case !strings.Contains(line, `"ping"`):
			t.Errorf("command %s is no call of the script", line)
		}
	}
	return n
}

// TestLT03OneCommandARequest: Redis gets one command for a lone request, whatever
// it asks, fewer for requests at the same moment, and none while a refusal is
// remembered.
func TestLT03OneCommandARequest(t *testing.T) {
	t.Parallel()
	const requests = 20
	server := startRedis(t)
	r := startRLS(t, "testdata/exact", server.backendArgs()...)
	code(t, r, "exact", "gcra", "warm") // connects, and brings the script
	var pairs []string
	for _, key := range exactKeys {
		pairs = append(pairs, key, "x")
	}
	if n := scriptCalls(t, server, func() {
		for range requests {
			if got := code(t, r, "exact", pairs...); got != "OK" {
				t.Errorf("%s, want OK", got)
			}
		}
	}); n != requests {
		t.Errorf("%d calls of the script for %d requests of %d descriptors", n, requests, len(exactKeys))
	}

	const many = 2000
	if n := scriptCalls(t, server, func() {
		got := load(t, r, "-domain", "exact", "-key", "gcra", "-values", strconv.Itoa(many), "-workers", "64", "-requests", strconv.Itoa(many))
		if got.OK != many {
			t.Errorf("%+v, want %d OK", got, many)
		}
	}); n == 0 || n > many/2 {
		t.Errorf("%d calls of the script for %d requests, 64 at a time, want half of that at most", n, many)
	}

	if _, err := sendRaw(t.Context(), r, withHits(encode("exact", []string{"gcra", "y"}), 1000)); err != nil {
		t.Fatal(err)
	}
	if n := scriptCalls(t, server, func() {
		eventually(t, "refusals from memory", func() bool {
			if got := code(t, r, "exact", "gcra", "y"); got != "OVER_LIMIT" {
				t.Errorf("%s, want OVER_LIMIT", got)
			}
			return metric(t, r, "rls_over_limit_cache_answers_total") >= requests
		})
	}); n == 0 || n >= requests {
		t.Errorf("%d calls of the script, want one a second", n)
	}
}
