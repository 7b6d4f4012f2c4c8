package integration

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/eb50146d/rls/test/proc"
)

// everywhere sends a value on every way that leads to a log line or a counter.
func everywhere(t *testing.T, r *proc.RLS, value string) {
	t.Helper()
	for _, wire := range [][]byte{
		encode("t", []string{"k", value}),
		encode("t", []string{"k", value}),     // over the limit
		encode("t", []string{"other", value}), // no rule
		encode("u", []string{"k", value}),     // no domain
		encode("t", []string{"k", value, "k", value}),
	} {
		if _, err := sendRaw(t.Context(), r, wire); err != nil {
			t.Error(err)
		}
	}
	if a, err := sendRaw(t.Context(), r, append(encode("t", []string{"k", value}), 0xff)); err == nil {
		t.Errorf("a malformed message: %v, want an error", a)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"domain": "t", "descriptors": [{"entries": [{"key": "k", "value": ` + string(text) + `}]}]}`,
		`{"domain": ` + value, `{` + string(text) + `: 1}`, `{"hits_addend": ` + string(text) + `}`,
	} {
		request(t, r.HTTP, "POST", "/json", body)
	}
}

// shown is all that rls shows of itself.
func shown(t *testing.T, r *proc.RLS) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"/", "/config", "/rlconfig", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		_, _, text := request(t, r.Admin, "GET", path, "")
		all.WriteString(text)
	}
	_, _, text := request(t, r.HTTP, "GET", "/metrics", "")
	all.WriteString(text)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	return all.String() + r.Output()
}

// TestSE04NoSecretIsShown: values are in no log at any level, no metric and no
// page; in the debug log equal ones can be told from others.
func TestSE04NoSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want bool
	}{
		{"json", []string{"--log-format", "json"}, false},
		{"console", nil, false},
		{"with metadata", []string{"--response-metadata"}, false},
		{"on request", []string{"--log-values"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := startRLS(t, rulesOf(t, ruleFile(1)), append(row.args, "--log-level", "debug", "--pprof")...)
			everywhere(t, r, "Bearer s3cr3t-token")
			text := shown(t, r)
			if got := strings.Contains(text, "s3cr3t"); got != row.want {
				t.Errorf("the value is shown: %t, want %t", got, row.want)
			}
			hashes := map[string]bool{}
			for _, hash := range regexp.MustCompile(`k=#[0-9a-f]{8}`).FindAllString(text, -1) {
				hashes[hash] = true
			}
			if want := map[bool]int{false: 1, true: 0}[row.want]; len(hashes) != want {
				t.Errorf("hashes %v of one value, want %d", hashes, want)
			}
		})
	}
}

// TestSE05NoValueWritesALogLine of its own, nor moves a terminal's cursor.
func TestSE05NoValueWritesALogLine(t *testing.T) {
	t.Parallel()
	const value = "x\n{\"level\":\"error\"}\r\nforged\x1b[31m"
	for _, format := range []string{"json", "console"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := startRLS(t, rulesOf(t, ruleFile(1)), "--log-format", format, "--log-level", "debug", "--log-values")
			everywhere(t, r, value)
			for _, wire := range [][]byte{encode(value, []string{"k", "v"}), encode("t", []string{value, value}), encode("v", []string{value, "v"})} {
				if _, err := sendRaw(t.Context(), r, wire); err != nil {
					t.Error(err)
				}
			}
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
			decided := 0
			for line := range strings.Lines(r.Output()) {
				if strings.ContainsAny(line, "\x1b\r") || strings.HasPrefix(line, "forged") || strings.HasPrefix(line, `{"level":"error"}`) {
					t.Errorf("log line %q", line)
				}
				var record map[string]any
				if format == "json" && !strings.HasPrefix(line, "rls ") && !strings.HasPrefix(line, "grpcurl ") {
					if err := json.Unmarshal([]byte(line), &record); err != nil || record["level"] == nil || record["msg"] == nil {
						t.Errorf("%v in log line %q", err, line)
					}
				}
				if strings.Contains(line, "decided") && strings.Contains(line, "forged") {
					decided++
				}
			}
			if decided < 8 {
				t.Errorf("%d lines with the value, want one a request", decided)
			}
		})
	}
}
