package integration

import (
	"net/http"
	"testing"
)

// TestOnePathOneSpelling: the shipped Envoy configuration takes other spellings
// of a path for the path, so that they do not pass by its limit.
func TestOnePathOneSpelling(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t, "http-ratelimit.yaml", startRLS(t, "testdata/limits"), upstream(t))
	for range 4 {
		if resp := get(t, e, "/login"); resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, want four to pass", resp.StatusCode)
		}
	}
	for _, path := range []string{"/login", "//login", "/x/../login", "/./login", "/%6cogin", "/x/%2e%2e/login", "/x%2f..%2flogin"} {
		if resp := get(t, e, path); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s gets %d, want 429", path, resp.StatusCode)
		}
	}
}
