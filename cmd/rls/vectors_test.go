package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/grpclog"
)

// vector is one trace with its right answers, as in pkg/algorithms/testdata.
type vector struct {
	Name     string
	Rule     map[string]json.RawMessage
	Resol    int64 `json:"resolution_ns"`
	Requests []struct {
		Time     int64  `json:"t_ns"`
		Hits     int64  `json:"hits"`
		SetLimit *int64 `json:"set_limit"`
	}
	Expected json.RawMessage
}

type expected struct {
	Allowed    bool   `json:"allowed"`
	Remaining  int64  `json:"remaining"`
	RetryAfter *int64 `json:"retry_after_ns"`
	ResetAfter int64  `json:"reset_after_ns"`
	Delay      int64  `json:"delay_ns"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	paths, err := filepath.Glob("../../pkg/algorithms/testdata/vectors/*.json")
	if err != nil || len(paths) != 52 {
		t.Fatalf("%d vectors, %v, want 52", len(paths), err)
	}
	all := make([]vector, len(paths))
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &all[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all
}

// yaml is the vector's rule as an owner would write it.
func (v *vector) yaml() string {
	text := func(name string) string { return strings.Trim(string(v.Rule[name]), `"`) }
	fields := []string{"algorithm: " + text("algorithm"), "name: v"}
	add := func(word, value string) {
		if value != "" {
			fields = append(fields, word+": "+value)
		}
	}
	window := text("window_ns")
	add("requests_per_unit", text("limit")+text("initial_limit"))
	if rate, ok := v.Rule["rate"]; ok {
		var of struct {
			Hits  int64 `json:"hits"`
			PerNS int64 `json:"per_ns"`
		}
		if err := json.Unmarshal(rate, &of); err != nil {
			return err.Error()
		}
		window = strconv.FormatInt(of.PerNS, 10)
		add("requests_per_unit", strconv.FormatInt(of.Hits, 10))
	}
	add("period", window+"ns")
	add("burst", text("capacity")+text("burst"))
	for _, word := range []string{"variant", "buckets", "mode", "align", "overdraft"} {
		add(word, text(word))
	}
	if text("algorithm") == "adaptive" {
		ratio := "1"
		if text("burst_den") == "10" {
			ratio = "0." + text("burst_num")
		}
		add("adaptive", fmt.Sprintf("{min_limit: %s, max_limit: %s, burst_ratio: %s}", text("min_limit"), text("max_limit"), ratio))
	}
	return "domain: d\ndescriptors: [{key: k, rate_limit: {" + strings.Join(fields, ", ") + "}}]\n"
}

// trace is the vector's requests as a trace for replay.
func (v *vector) trace() string {
	var b strings.Builder
	for _, r := range v.Requests {
		if r.SetLimit != nil {
			fmt.Fprintf(&b, `{"t_ns": %d, "set_limit": {"rule": "v", "requests_per_unit": %d}}`+"\n", r.Time, *r.SetLimit)
			continue
		}
		fmt.Fprintf(&b, `{"t_ns": %d, "domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "x"}], "hits_addend": %d, "is_negative_hits": %v}]}`+"\n",
			r.Time, max(r.Hits, -r.Hits), r.Hits < 0)
	}
	return b.String()
}

// TestReplayVectors: rls replay gives the right answers of all traces, and rls
// check refuses the rules that cannot be.
func TestReplayVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(config, []byte(v.yaml()), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(v.Expected), "{") {
				// 0 in a rule file is a rule that denies, not a rate.
				want := map[bool]int{true: exitOK, false: exitFailed}[v.Name == "reject_zero"]
				if code, out, _ := command(t, "", "check", config); code != want || (code == exitFailed) != strings.Contains(out, "rules.yaml:2:") {
					t.Errorf("check exits %d with %q, want %d", code, out, want)
				}
				return
			}
			code, out, errs := command(t, v.trace(), "replay", "--config", config, "-")
			if code != exitOK {
				t.Fatalf("replay exits %d: %s", code, errs)
			}
			if diff := cmp.Diff(v.want(t), v.got(t, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (v *vector) want(t *testing.T) []expected {
	t.Helper()
	var all []*expected
	if err := json.Unmarshal(v.Expected, &all); err != nil {
		t.Fatal(err)
	}
	var want []expected
	for _, e := range all {
		if e != nil {
			want = append(want, *e)
		}
	}
	return want
}

// got reads what replay printed, its durations rounded up to the vector's
// resolution.
func (v *vector) got(t *testing.T, out string) []expected {
	t.Helper()
	up := func(ns int64) int64 { return (ns + v.Resol - 1) / v.Resol * v.Resol }
	var got []expected
	decoder := json.NewDecoder(strings.NewReader(out))
	for decoder.More() {
		var a struct {
			Overall  string
			Statuses []struct {
				Code string
				expected
			}
		}
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		e := a.Statuses[0].expected
		e.Allowed = a.Statuses[0].Code == "OK"
		if e.Allowed != (a.Overall == "OK") {
			t.Errorf("status %s under an overall %s", a.Statuses[0].Code, a.Overall)
		}
		e.ResetAfter, e.Delay = up(e.ResetAfter), up(e.Delay)
		if e.RetryAfter != nil {
			*e.RetryAfter = up(*e.RetryAfter)
		}
		got = append(got, e)
	}
	return got
}

// command runs one rls command in this process.
func command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &process{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, now: time.Now, logGRPC: func(grpclog.LoggerV2) {},
		env: func(string) (string, bool) { return "", false },
	})
	return code, out.String(), errs.String()
}

var errBroken = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
