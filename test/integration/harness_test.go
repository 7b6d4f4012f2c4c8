package integration

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// startRLS starts rls with the rule files of testdata/rules.
func startRLS(t *testing.T, rules string, args ...string) *proc.RLS {
	t.Helper()
	r, err := proc.StartRLS(t.Context(), programs.rls, &programs.ports, rules, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Stop() //nolint:errcheck // the end of the test has ended it; tests of the ending look for themselves
		logOnFailure(t, "rls", r.Process)
	})
	return r
}

// upstream is an HTTP service that stamps arrivals with the time.
func upstream(t *testing.T) *proc.Upstream {
	t.Helper()
	u := proc.NewUpstream(time.Now)
	t.Cleanup(u.Close)
	return u
}

// startEnvoy starts Envoy with a shipped configuration after the edits, pairs of
// old and new text. The time that Envoy waits for rls is always edited: a busy
// machine must not look like an outage.
func startEnvoy(t *testing.T, file string, rls *proc.RLS, up *proc.Upstream, edits ...string) *proc.Envoy {
	t.Helper()
	config := shipped(t, file)
	edits = append(edits, "timeout: 0.1s", "timeout: 30s")
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(config, edits[i]) {
			t.Fatalf("%s does not contain %q", file, edits[i])
		}
		config = strings.ReplaceAll(config, edits[i], edits[i+1])
	}
	e, err := proc.StartEnvoy(t.Context(), programs.envoy, &programs.ports, config, rls.GRPC, up.Port())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Stop() //nolint:errcheck // how Envoy ends is not our concern
		logOnFailure(t, "Envoy", e.Process)
	})
	return e
}

func logOnFailure(t *testing.T, name string, p *proc.Process) {
	t.Helper()
	if t.Failed() {
		t.Logf("output of %s:\n%s", name, p.Output())
	}
}

// get sends a request through Envoy; header holds pairs of name and value.
func get(t *testing.T, e *proc.Envoy, path string, header ...string) *http.Response {
	t.Helper()
	resp, err := send(t.Context(), e, path, header...)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// patience ends what would otherwise hang.
const patience = 2 * time.Minute

// send is get for goroutines of a test. The answer's body is read and closed.
func send(ctx context.Context, e *proc.Envoy, path string, header ...string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proc.Loopback(e.Listener)+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, errors.Join(err, resp.Body.Close())
}

// seconds reads a header that is a whole number of seconds.
func seconds(t *testing.T, resp *http.Response, header string) time.Duration {
	t.Helper()
	n, err := strconv.Atoi(resp.Header.Get(header))
	if err != nil {
		t.Errorf("%s: %v", header, err)
	}
	return time.Duration(n) * time.Second
}

// between checks a time that shrinks while the test runs.
func between(t *testing.T, what string, least, got, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s is %v, want %v to %v", what, got, least, most)
	}
}
