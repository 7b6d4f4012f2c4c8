package integration

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ( // response headers
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
	headerRetry     = "Retry-After"
)

// answer is what a caller sees that does not depend on the time.
type answer struct {
	Status           int
	Limit, Remaining string
}

func answerOf(resp *http.Response) answer {
	return answer{resp.StatusCode, resp.Header.Get(headerLimit), resp.Header.Get(headerRemaining)}
}

func TestGCRA(t *testing.T) {
	t.Parallel()
	up := upstream(t)
	e := startEnvoy(t, "http-ratelimit.yaml", startRLS(t, "testdata/limits"), up)

	const limit, period = `5, 5;w=3600;name="per-key"`, time.Hour / 5
	tests := []struct {
		want  answer
		reset time.Duration // to the full burst, or to the next hit
	}{
		{answer{200, limit, "2"}, period},
		{answer{200, limit, "1"}, 2 * period},
		{answer{200, limit, "0"}, 3 * period},
		{answer{429, limit, "0"}, period},
	}
	start := time.Now()
	for i, tt := range tests {
		resp := get(t, e, "/", "x-api-key", "k")
		since := time.Since(start) + time.Second // headers hold whole seconds
		if diff := cmp.Diff(tt.want, answerOf(resp)); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i+1, diff)
		}
		between(t, headerReset, tt.reset-since, seconds(t, resp, headerReset), tt.reset)
		if resp.StatusCode == http.StatusTooManyRequests {
			between(t, headerRetry, tt.reset-since, seconds(t, resp, headerRetry), tt.reset)
		}
	}
	if resp := get(t, e, "/", "x-api-key", "another"); resp.StatusCode != http.StatusOK {
		t.Errorf("another key gets %d", resp.StatusCode)
	}
	if diff := cmp.Diff(4, len(up.Arrivals())); diff != "" {
		t.Errorf("arrivals at the upstream (-want +got):\n%s", diff)
	}
}

func TestFixedWindow(t *testing.T) {
	t.Parallel()
	up := upstream(t)
	e := startEnvoy(t, "http-ratelimit.yaml", startRLS(t, "testdata/limits"), up)

	const limit, window = `4, 4;w=31536000;name="login"`, 365 * 24 * time.Hour
	for i, want := range []answer{{200, limit, "3"}, {200, limit, "2"}, {200, limit, "1"}, {200, limit, "0"}, {429, limit, "0"}} {
		start := time.Now()
		end := start.Truncate(0).Add(window - time.Duration(start.UnixNano())%window)
		resp := get(t, e, "/login")
		if diff := cmp.Diff(want, answerOf(resp)); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i+1, diff)
		}
		between(t, headerReset, time.Until(end), seconds(t, resp, headerReset), end.Sub(start)+time.Second)
	}
	if resp := get(t, e, "/"); resp.StatusCode != http.StatusOK || resp.Header.Get(headerLimit) != "" {
		t.Errorf("a request that asks nothing gets %d, limit %q", resp.StatusCode, resp.Header.Get(headerLimit))
	}
}

// TestNotUTF8 pins that a value of any bytes is limited like another: a service
// that refuses the message lets the request through, since Envoy fails open.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t, "http-ratelimit.yaml", startRLS(t, "testdata/limits"), upstream(t))

	for i, want := range []int{200, 200, 429} {
		if resp := get(t, e, "/?tenant=a%FFb"); resp.StatusCode != want {
			t.Errorf("request %d gets %d, want %d", i+1, resp.StatusCode, want)
		}
	}
	for _, other := range []string{"/?tenant=a%FEb", "/?tenant=a%EF%BF%BDb", "/?tenant=a"} {
		if resp := get(t, e, other); resp.StatusCode != http.StatusOK {
			t.Errorf("%s, another tenant, gets %d", other, resp.StatusCode)
		}
	}
}
