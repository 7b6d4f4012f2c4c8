package integration

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/eb50146d/rls/test/proc"
)

// request sends an HTTP request to a port of rls and gives status, type and body.
func request(t *testing.T, port int, method, path, body string) (status int, kind, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+proc.Loopback(port)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(data)
}

func rulesOf(t *testing.T, text string) string {
	t.Helper()
	c := testCase{Config: text}
	return c.write(t)
}

// TestJSON: /json as the program to replace has it.
func TestJSON(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: day, name: n}}]\n"))
	const body = `{"domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "v"}]}]}`
	for i, row := range []struct {
		method, body, kind string
		status             int
		code               rlspb.RateLimitResponse_Code
	}{
		{"POST", body, "application/json", 200, rlspb.RateLimitResponse_OK},
		{"GET", body, "application/json", 429, rlspb.RateLimitResponse_OVER_LIMIT},
		{"PUT", `{"domain": "d", "hits_addend": 1, "descriptors": [{"entries": [{"key": "z"}]}]}`, "application/json", 200, rlspb.RateLimitResponse_OK},
		{"POST", `{"domain": "d", "hitsAddend": 1, "descriptors": [{"entries": [{"key": "z"}]}]}`, "application/json", 200, rlspb.RateLimitResponse_OK},
	} {
		status, kind, text := request(t, r.HTTP, row.method, "/json", row.body)
		answer := &rlspb.RateLimitResponse{}
		if err := protojson.Unmarshal([]byte(text), answer); err != nil {
			t.Errorf("request %d: %v in %s", i+1, err, text)
		}
		if status != row.status || kind != row.kind || answer.GetOverallCode() != row.code {
			t.Errorf("request %d: %d %s %s, want %d %s %s", i+1, status, kind, answer.GetOverallCode(), row.status, row.kind, row.code)
		}
	}
	for _, bad := range []string{"", "{", `{"domain": "d"}`, `{"domain": "", "descriptors": [{}]}`, `{"dom": "d"}`, `[]`, strings.Repeat(" ", 1<<20+1) + body} {
		if status, _, text := request(t, r.HTTP, "POST", "/json", bad); status != 400 || strings.TrimSpace(text) != "Bad Request" {
			t.Errorf("%.40q: %d %q, want 400 Bad Request", bad, status, text)
		}
	}
}

func TestOperatorsPages(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, `
domain: d
descriptors:
  - {key: a, value: b, shadow_mode: true, rate_limit: {requests_per_unit: 7, unit: day}, descriptors: [{key: c, quota_mode: true, rate_limit: {requests_per_unit: 0, unit: week}}]}
`))
	const want = "d.a_b: unit=DAY requests_per_unit=7, shadow_mode: true, quota_mode: false\n" +
		"d.a_b.c: unit=WEEK requests_per_unit=0, shadow_mode: false, quota_mode: true\n"
	_, _, got := request(t, r.Admin, "GET", "/rlconfig", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, _, text := request(t, r.Admin, "GET", "/config", "")
	var config struct {
		Source, Hash string
		Version      int
		LoadedAt     string `json:"loaded_at"`
		Rules        int
		Errors       []string
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if config.Version != 1 || config.Rules != 2 || config.Hash == "" || config.LoadedAt == "" || config.Source == "" || config.Errors != nil {
		t.Errorf("/config says %s", text)
	}
	_, _, index := request(t, r.Admin, "GET", "/", "")
	if !strings.Contains(index, "/rlconfig: ") || !strings.Contains(index, "/config: ") {
		t.Errorf("the index is %q", index)
	}
	if status, _, _ := request(t, r.Admin, "GET", "/debug/pprof/", ""); status != http.StatusNotFound {
		t.Errorf("profiles without --pprof: %d, want 404 (SE-09)", status)
	}
	if status, _, text := request(t, r.HTTP, "GET", "/healthcheck", ""); status != 200 || text != "OK" {
		t.Errorf("/healthcheck: %d %q, want 200 OK", status, text)
	}
	_, _, metrics := request(t, r.HTTP, "GET", "/metrics", "")
	for _, name := range []string{
		`rls_decisions_total{algorithm="fixed_window",domain="d",rule="d.a_b",verdict="ok"} 0`, `rls_request_duration_microseconds_bucket{le="20000"}`,
		`rls_config_reloads_total{result="error"} 0`, `rls_config_reloads_total{result="ok"} 1`, "rls_local_keys 0", `rls_config_info{hash="` + config.Hash,
		"rls_build_info{", "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
}

func TestProfilesOnRequest(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\n"), "--pprof")
	if status, _, _ := request(t, r.Admin, "GET", "/debug/pprof/", ""); status != http.StatusOK {
		t.Errorf("profiles with --pprof: %d, want 200", status)
	}
}

// TestGarbageOnThePort: what is not gRPC is closed and logged in one clear line,
// and the next caller is served.
func TestGarbageOnThePort(t *testing.T) {
	t.Parallel()
	r := startRLS(t, rulesOf(t, "domain: d\n"), "--log-format", "json")
	for _, garbage := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", strings.Repeat("\x00\xff", 100), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", proc.Loopback(r.GRPC))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, garbage); err != nil {
			t.Fatal(err)
		}
		if c, ok := conn.(*net.TCPConn); ok {
			c.CloseWrite() //nolint:errcheck // rls may have closed it already
		}
		io.Copy(io.Discard, conn) //nolint:errcheck // a reset is as good as an end
		conn.Close()              //nolint:errcheck // it has ended
	}
	client := rlspb.NewRateLimitServiceClient(r.Conn())
	if _, err := client.ShouldRateLimit(t.Context(), &rlspb.RateLimitRequest{Domain: "d"}); err == nil || !strings.Contains(err.Error(), "descriptors is empty") {
		t.Errorf("error %v, want what is wrong with the request", err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for line := range strings.Lines(r.Output()) {
		if !strings.HasPrefix(line, "{") {
			continue // the greeting
		}
		var entry struct{ Level, Msg, Reason string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%v in log line %q", err, line)
		}
		if strings.Contains(entry.Msg, "does not speak gRPC") {
			refused++
		}
		if entry.Level == "error" {
			t.Errorf("logged %q", line)
		}
	}
	if refused < 2 || refused > 3 {
		t.Errorf("%d lines about what is not gRPC, want one each", refused)
	}
}
