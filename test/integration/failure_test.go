package integration

import (
	"net/http"
	"testing"
)

// closed is the edit that makes Envoy refuse when rls does not answer.
var closed = []string{"failure_mode_deny: false", "failure_mode_deny: true"}

func TestFailureMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		edits []string
		down  int // status without rls
	}{
		{name: "open", down: http.StatusOK},
		{name: "closed", edits: closed, down: http.StatusInternalServerError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rls := startRLS(t, "testdata/limits")
			e := startEnvoy(t, "http-ratelimit.yaml", rls, upstream(t), tt.edits...)
			if resp := get(t, e, "/checkout"); resp.StatusCode != http.StatusOK || resp.Header.Get(headerLimit) == "" {
				t.Errorf("with rls: status %d, limit %q", resp.StatusCode, resp.Header.Get(headerLimit))
			}
			if err := rls.Stop(); err != nil {
				t.Errorf("rls ends with %v", err)
			}
			if resp := get(t, e, "/checkout"); resp.StatusCode != tt.down {
				t.Errorf("without rls: status %d, want %d", resp.StatusCode, tt.down)
			}
		})
	}
}
