package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/grpclog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBadInput: one clear line, and the exit code that says whose fault it is.
func TestBadInput(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	good := write(t, "good.yaml", "domain: d\ndescriptors: [{key: k, rate_limit: {requests_per_unit: 1, unit: day}}]\n")
	bad := write(t, "bad.yaml", "domain: d\nx: 1\ny: 2\n")
	trace := write(t, "trace.jsonl", "{}\n")
	empty := t.TempDir()
	for _, row := range []struct {
		name string
		args []string
		code int
		want string // on stderr, or on stdout of check
	}{
		{"unknown command", []string{"server"}, 2, `rls: unknown command "server", must be serve, check, replay or version`},
		{"unknown flag", []string{"--confg", "x"}, 2, "rls: flag provided but not defined: --confg; rls serve --help lists the flags"},
		{"flag without value", []string{"check", "--config"}, 2, "rls: flag needs an argument: --config; rls check --help lists the flags"},
		{"bad value", []string{"--drain-delay", "soon"}, 2, `rls: invalid value "soon" for flag --drain-delay: must be a duration with its unit, such as 15ms or 5s; rls serve --help lists the flags`},
		{"argument of serve", []string{"serve", "dir"}, 2, `rls: unexpected argument "dir"; the rules are given by --config DIR, and a switch is set off by --switch=false`},
		{"no directory", []string{"--config", "no/such"}, 2, "rls: reading rules: no/such: no such file or directory"},
		{"empty directory", []string{"--config", empty}, 2, "rls: reading rules: " + empty + " has no *.yaml or *.yml file"},
		{
			"port in use",
			[]string{"--config", good, "--log-level", "error", "--grpc-addr", taken.Addr().String()},
			2,
			"rls: --grpc-addr: listen tcp " + taken.Addr().String() + ": bind: address already in use",
		},
		{
			"other port in use",
			[]string{"--config", good, "--log-level", "error", "--grpc-addr", "127.0.0.1:0", "--http-addr", taken.Addr().String()},
			2,
			"rls: --http-addr: listen tcp " + taken.Addr().String() + ": bind: address already in use",
		},
		{
			"admin port in use",
			[]string{
				"--config", good, "--log-level", "error", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--admin-addr", taken.Addr().String(),
			},
			2,
			"rls: --admin-addr: listen tcp " + taken.Addr().String() + ": bind: address already in use",
		},
		{
			"not an address",
			[]string{"--config", good, "--log-level", "error", "--grpc-addr", "8081"},
			2,
			"rls: --grpc-addr: listen tcp: address 8081: missing port in address",
		},
		{"bad reporter", []string{"--config", good, "--feedback-allow", "10.0.0.0/33"}, 2, `rls: --feedback-allow: "10.0.0.0/33" is no CIDR, no address, and no name of a certificate`},
		{
			"reporter by name without certificates",
			[]string{"--config", good, "--feedback-allow", "10.0.0.0/8,spiffe://mesh/app"},
			2,
			"rls: --feedback-allow has a name of a certificate, which needs --grpc-tls-client-ca",
		},
		{
			"no such certificate",
			[]string{"--config", good, "--grpc-tls-cert", "no/such", "--grpc-tls-key", "no/such"},
			2,
			"rls: --grpc-tls: open no/such: no such file or directory",
		},
		{"redis", []string{"--backend", "redis"}, 2, "rls: --redis-url is missing; --backend redis needs it"},
		{"other backend", []string{"--backend", "memcache"}, 2, `rls: --backend is "memcache", must be local or redis`},
		{"redis URL", []string{"--config", good, "--log-level", "error", "--backend", "redis", "--redis-url", "redis://:hunter2@h:port"}, 2, "rls: --redis-url: the port in the URL of redis is no number from 1 to 65535"},
		{"second redis", []string{"--backend", "redis", "--redis-url", "h:1", "--redis-persecond"}, 2, "rls: --redis-persecond-url is missing; --backend redis needs it"},
		{"two passwords", []string{"--backend", "redis", "--redis-url", "h:1", "--redis-password", "a", "--redis-password-file", "b"}, 2, "rls: --redis-auth, -password and -password-file exclude each other"},
		{"two users", []string{"--config", good, "--log-level", "error", "--backend", "redis", "--redis-url", "redis://u@h", "--redis-username", "v", "--redis-password", "p"}, 2, "rls: --redis-url names another user than --redis-username; give one of them"},
		{"certificate without TLS", []string{"--backend", "redis", "--redis-url", "redis://h", "--redis-tls-ca", "c"}, 2, "rls: --redis-tls-ca, --redis-tls-cert and --redis-tls-key are for encrypted connections; "},
		{"half a pair", []string{"--backend", "redis", "--redis-url", "h:1", "--redis-tls-cert", "c"}, 2, "rls: --redis-tls-cert and --redis-tls-key must be given together"},
		{"budget", []string{"--backend", "redis", "--redis-url", "h:1", "--redis-budget", "0s"}, 2, "rls: --redis-budget is 0s, must be positive"},
		{"pool", []string{"--backend", "redis", "--redis-url", "h:1", "--redis-pool-size", "-1"}, 2, "rls: --redis-pool-size is -1, must not be negative"},
		{"jitter", []string{"--backend", "redis", "--redis-url", "h:1", "--compat-key-jitter", "-1"}, 2, "rls: --compat-key-jitter and --compat-cache-bytes must not be negative"},
		{"hash keys", []string{"--config", good, "--log-level", "error", "--backend", "redis", "--redis-url", "h:1", "--redis-hash-keys", "no/such"}, 2, "rls: --redis-hash-keys: open no/such: no such file or directory"},
		{"replay: no redis", []string{"replay", "--config", good, "--backend", "redis", "--redis-url", "redis://127.0.0.1:1", trace}, 2, "rls: asking redis: "},
		{"key prefix", []string{"--config", good, "--log-level", "error", "--backend", "redis", "--redis-url", "h:1", "--redis-key-prefix", "{a}"}, 2, `rls: key prefix is "{a}", must have no braces`},
		{"no keys", []string{"--local-max-keys", "0"}, 2, "rls: --local-max-keys is 0, must be at least 1"},
		{"compat", []string{"--compat", "limitador"}, 2, `rls: --compat is "limitador", must be envoyproxy or nothing`},
		{"response headers", []string{"--response-headers", "ietf, x-rate"}, 2, `rls: --response-headers has "x-rate", must be of retry-after, x-ratelimit, ietf`},
		{"header name", []string{"--limit-headers", "--reset-header", "a: b"}, 2, `rls: "a: b" is no header name, must be letters, digits and dashes`},
		{"no header name", []string{"--limit-headers", "--limit-header", ""}, 2, `rls: "" is no header name, must be letters, digits and dashes`},
		{"not yes or no", []string{"--shadow-mode=maybe"}, 2, `rls: invalid boolean value "maybe" for --shadow-mode: parse error; rls serve --help lists the flags`},
		{"log level", []string{"--log-level", "loud"}, 2, `rls: log level is "loud", must be debug, info, warn or error`},
		{"log level beyond errors", []string{"--log-level", "fatal"}, 2, `rls: log level is "fatal", must be debug, info, warn or error`},
		{"no address", []string{"--grpc-addr="}, 2, "rls: --grpc-addr is empty, must be an address such as :8081"},
		{"log format", []string{"--log-format", "xml"}, 2, `rls: log format is "xml", must be json or console`},
		{"format", []string{"replay", "--format", "xml", trace}, 2, `rls: --format is "xml", must be json or table`},
		{"check: errors", []string{"check", bad}, 1, bad + `:2:1: unknown word "x" in a rule file`},
		{"check: every error", []string{"check", bad}, 1, bad + ":3:1: "},
		{"check: no directory", []string{"check", "no/such"}, 2, "rls: reading rules: no/such: no such file or directory"},
		{"check: two directories", []string{"check", "a", "b"}, 2, `rls: unexpected argument "b"; rls check takes one directory`},
		{"replay: rules", []string{"replay", "--config", bad, trace}, 1, bad + ":2:1: "},
		{"replay: no trace", []string{"replay", "--config", good}, 2, "rls: 0 arguments after the flags; rls replay takes one, TRACE.jsonl"},
		{"replay: missing trace", []string{"replay", "--config", good, "no/such"}, 2, "rls: reading the trace: open no/such: no such file or directory"},
		{"replay: bad line", []string{"replay", "--config", good, trace}, 1, "rls: " + trace + ": line 1: t_ns is missing or negative, must be nanoseconds since the epoch"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := command(t, "", row.args...)
			if code != row.code || !strings.Contains(out+errs, row.want) {
				t.Errorf("exits %d with %q, want %d with %q", code, out+errs, row.code, row.want)
			}
			if row.code == 2 && strings.Count(errs, "\n") != 1 {
				t.Errorf("%q, want one line", errs)
			}
		})
	}
}

func TestTraceErrors(t *testing.T) {
	t.Parallel()
	config := write(t, "rules.yaml", `
domain: d
descriptors:
  - {key: k, rate_limit: {requests_per_unit: 1, unit: day}}
  - {key: a, rate_limit: {algorithm: adaptive, requests_per_unit: 1, unit: day, name: a, adaptive: {min_limit: 1, max_limit: 9}}}
  - {key: b, rate_limit: {requests_per_unit: 1, unit: day, name: b}}
  - {key: c, rate_limit: {requests_per_unit: 1, unit: day, name: b}}
`)
	for _, row := range []struct{ name, trace, want string }{
		{"no JSON", "x", "line 1: invalid character 'x' looking for beginning of value"},
		{"after good lines", `{"t_ns": 1, "domain": "d", "descriptors": [{}]}` + "\n\n" + `{"t_ns": -1}`, "line 3: t_ns is missing or negative"},
		{"unknown field", `{"t_ns": 1, "hit": 1}`, `line 1: unknown field "hit"`},
		{"wrong type", `{"t_ns": 1.5}`, "line 1: t_ns is a number 1.5, must be int64"},
		{"two values", `{"t_ns": 1}{"t_ns": 1}`, "line 1: more than one value, want one JSON object a line"},
		{"no domain", `{"t_ns": 1, "descriptors": [{}]}`, "line 1: domain is empty"},
		{"no descriptors", `{"t_ns": 1, "domain": "d"}`, "line 1: descriptors is empty"},
		{"unit", `{"t_ns": 1, "domain": "d", "descriptors": [{"limit": {"unit": "FORTNIGHT"}}]}`, `line 1: descriptors[0]: limit.unit is "FORTNIGHT", must be SECOND`},
		{"both", `{"t_ns": 1, "domain": "d", "set_limit": {"rule": "a"}}`, "line 1: a line is either a request or a set_limit"},
		{"no number", `{"t_ns": 1, "set_limit": {"rule": "a"}}`, "line 1: set_limit.requests_per_unit is missing"},
		{"no rule", `{"t_ns": 1, "set_limit": {"rule": "c", "requests_per_unit": 1}}`, `line 1: set_limit: no rule is called "c"`},
		{"two of one name", `{"t_ns": 1, "set_limit": {"rule": "b", "requests_per_unit": 1}}`, `line 1: set_limit: 2 rules are called "b", add the domain of the one meant`},
		{"not adaptive", `{"t_ns": 1, "set_limit": {"rule": "d.k", "requests_per_unit": 1}}`, `line 1: set_limit: rule "d.k" is not adaptive`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			code, _, errs := command(t, row.trace, "replay", "--config", config, "-")
			if code != exitFailed || !strings.Contains(errs, "rls: -: "+row.want) {
				t.Errorf("exits %d with %q, want 1 with %q", code, errs, row.want)
			}
		})
	}
}

func TestReplayOutput(t *testing.T) {
	t.Parallel()
	config := write(t, "rules.yaml", `
domain: d
descriptors:
  - {key: k, rate_limit: {algorithm: gcra, requests_per_unit: 1, unit: second, name: one}}
  - {key: free, rate_limit: {unlimited: true}}
`)
	const line = `{"t_ns": 0, "domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "x"}], "hits_addend": 1}, ` +
		`{"entries": [{"key": "free", "value": ""}]}, {"entries": [{"key": "z", "value": ""}]}]}` + "\n"
	const never = `{"t_ns": 0, "domain": "d", "hits_addend": 2, "descriptors": [{"entries": [{"key": "k", "value": "y"}]}]}` + "\n"
	trace := line + line + never
	const others = `{"code":"OK","rule":"d.free","limit":null,"remaining":null,"retry_after_ns":0,"reset_after_ns":0,"delay_ns":0},` +
		`{"code":"OK","rule":null,"limit":null,"remaining":null,"retry_after_ns":0,"reset_after_ns":0,"delay_ns":0}]}` + "\n"
	want := `{"t_ns":0,"overall":"OK","statuses":[{"code":"OK","rule":"one","limit":1,"remaining":0,"retry_after_ns":0,"reset_after_ns":1000000000,"delay_ns":0},` + others +
		`{"t_ns":0,"overall":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","rule":"one","limit":1,"remaining":0,"retry_after_ns":1000000000,"reset_after_ns":1000000000,"delay_ns":0},` + others +
		`{"t_ns":0,"overall":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","rule":"one","limit":1,"remaining":1,"retry_after_ns":null,"reset_after_ns":0,"delay_ns":0}]}` + "\n"
	code, out, errs := command(t, trace, "replay", "--config", config, "-")
	if diff := cmp.Diff(want, out); diff != "" || code != exitOK || errs != "" {
		t.Errorf("exits %d with %q\n%s", code, errs, diff)
	}
	_, out, _ = command(t, trace, "replay", "--format", "table", "--config", config, "-")
	want = "DOMAIN  RULE       ADMITTED  REFUSED\n        (no rule)  2         0\nd       d.free     2         0\nd       one        1         2\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

// TestWriteErrors: a pipe that breaks is an error, not silence.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	config := write(t, "rules.yaml", "domain: d\n")
	for _, format := range []string{"json", "table"} {
		var errs bytes.Buffer
		p := &process{
			stdin: strings.NewReader(`{"t_ns": 1, "domain": "d", "descriptors": [{}]}`), stdout: brokenWriter{}, stderr: &errs,
			env: func(string) (string, bool) { return "", false },
		}
		if code := run([]string{"replay", "--format", format, "--config", config, "-"}, p); code != exitFailed || !strings.Contains(errs.String(), errBroken.Error()) {
			t.Errorf("%s: exits %d with %q, want 1 and why", format, code, errs.String())
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"help"}, "rls check [flags] [DIR]"},
		{[]string{"--help"}, "--grpc-addr address\n        address of the gRPC services (default :8081, RLS_GRPC_ADDR)"},
		{[]string{"check", "-h"}, "RLS_CONFIG"},
		{[]string{"replay", "--help"}, `"t_ns": 1790000000000000000`},
		{[]string{"version"}, "rls dev\n"},
		{[]string{"--version"}, "rls dev\n"},
		{[]string{"--help"}, "rls replay [flags] TRACE.jsonl"},
		{[]string{"help", "replay"}, "--format format"},
	} {
		code, out, errs := command(t, "", row.args...)
		if code != exitOK || !strings.Contains(out, row.want) || errs != "" {
			t.Errorf("%v exits %d with %q and %q, want %q", row.args, code, out, errs, row.want)
		}
	}
}

// TestEnvironment: a variable stands in for its flag, the flag wins, and a set
// but empty variable is none.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"RLS_CONFIG": "no/such", "RLS_BACKEND": "", "RLS_LOCAL_MAX_KEYS": "many"}
	var errs bytes.Buffer
	p := &process{stdout: &errs, stderr: &errs, now: time.Now, logGRPC: func(grpclog.LoggerV2) {}, env: func(name string) (string, bool) { v, ok := variables[name]; return v, ok }}
	if code := run(nil, p); code != exitUsage || errs.String() != "rls: invalid value \"many\" for RLS_LOCAL_MAX_KEYS: parse error\n" {
		t.Errorf("exits %d with %q", code, errs.String())
	}
	variables["RLS_LOCAL_MAX_KEYS"] = ""
	errs.Reset()
	if code := run(nil, p); code != exitUsage || !strings.Contains(errs.String(), "no/such: no such file") {
		t.Errorf("exits %d with %q, want an empty variable to be none", code, errs.String())
	}
	errs.Reset()
	if code := run([]string{"check"}, p); code != exitUsage || !strings.Contains(errs.String(), "no/such: no such file") {
		t.Errorf("exits %d with %q, want the variable's directory", code, errs.String())
	}
	errs.Reset()
	if code := run([]string{"check", "--config", "nor/this"}, p); code != exitUsage || !strings.Contains(errs.String(), "nor/this: no such file") {
		t.Errorf("exits %d with %q, want the flag's directory", code, errs.String())
	}
}

// TestExamples: every example loads without a word.
func TestExamples(t *testing.T) {
	t.Parallel()
	if code, out, errs := command(t, "", "check", "../../config/examples"); code != exitOK || out+errs != "" {
		t.Errorf("exits %d with %q, want silence", code, out+errs)
	}
}
