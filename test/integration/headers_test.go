package integration

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwnHeaders: what rls writes itself reaches the caller through an Envoy that
// writes none, on admissions and refusals.
func TestOwnHeaders(t *testing.T) {
	t.Parallel()
	rls := startRLS(t, "testdata/limits", "--response-headers", "retry-after,x-ratelimit,ietf")
	e := startEnvoy(t, "http-ratelimit.yaml", rls, upstream(t), "enable_x_ratelimit_headers: DRAFT_VERSION_03", `enable_x_ratelimit_headers: "OFF"`,
		"enable_retry_after_header: true", "enable_retry_after_header: false")
	names := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "Ratelimit-Policy"}
	want := []string{`5, 5;w=3600;name="per-key"`, "2", `"per-key";q=5;w=3600`}
	resp := get(t, e, "/", "x-api-key", "k")
	var got []string
	for _, name := range names {
		got = append(got, resp.Header.Get(name))
	}
	if diff := cmp.Diff(want, got); diff != "" || resp.Header.Get("Retry-After") != "" {
		t.Errorf("Retry-After %q on an admission, or (-want +got):\n%s", resp.Header.Get("Retry-After"), diff)
	}
	for range 3 {
		resp = get(t, e, "/", "x-api-key", "k")
	}
	wait := resp.Header.Get("Retry-After")
	if resp.StatusCode != http.StatusTooManyRequests || wait == "" || resp.Header.Get("Ratelimit") != `"per-key";r=0;t=`+wait || resp.Header.Get("X-Ratelimit-Reset") != wait {
		t.Errorf("%d with %v, want a 429 whose headers name one wait", resp.StatusCode, resp.Header)
	}
}
