package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events of one package p: a line is an action, a test and an output, separated by
// a bar.
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		part := strings.Split(line, "|")
		b.WriteString(`{"Action":"` + part[0] + `","Package":"p","Test":"` + part[1] + `","Output":"` + part[2] + `\n"}` + "\n")
	}
	return b.String()
}

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		events  string
		ok      bool
		verdict string
		out     string
	}{
		{
			name: "a parent is not counted, its subtests are",
			events: events("run|A|", "output|A|quiet", "run|A/x|", "pass|A/x|", "run|A/y|", "pass|A/y|", "pass|A|",
				"output||PASS", "output||ok  p 1s", "pass||"),
			ok: true, verdict: "2 tests passed", out: "ok  p 1s\n",
		},
		{
			name: "only the failed test's output is printed",
			events: events("run|A|", "output|A|=== RUN A", "output|A|a.go:1: wrong", "run|B|", "output|B|quiet",
				"pass|B|", "fail|A|", "output||FAIL p 1s", "fail||"),
			verdict: "1 tests passed, 1 failed, 0 skipped, in 1 packages something failed", out: "a.go:1: wrong\nFAIL p 1s\n",
		},
		{
			name:    "a skipped test fails the run",
			events:  events("run|A|", "output|A|a.go:1: no time", "skip|A|", "run|B|", "pass|B|", "pass||"),
			verdict: "1 tests passed, 0 failed, 1 skipped, in 0 packages something failed", out: "a.go:1: no time\n",
		},
		{
			name:    "a package without tests is no skipped test",
			events:  events("run|A|", "pass|A|", "pass||", "output||? p [no test files]", "skip||"),
			ok:      true,
			verdict: "1 tests passed",
		},
		{
			name:    "a failed parent whose subtests pass",
			events:  events("run|A|", "run|A/x|", "pass|A/x|", "output|A|a.go:2: after", "fail|A|", "fail||"),
			verdict: "1 tests passed, 0 failed, 0 skipped, in 1 packages something failed", out: "a.go:2: after\n",
		},
		{
			name:    "a test that a time limit ended has no event",
			events:  events("run|A|", "pass|A|", "run|B|", "output|B|panic: test timed out", "fail||"),
			verdict: "1 tests passed, 0 failed, 0 skipped, in 1 packages something failed", out: "panic: test timed out\n",
		},
		{
			name:    "what does not compile",
			events:  events("build-output||a.go:1: undefined", "build-fail||", "run|A|", "pass|A|", "output||FAIL p [build failed]", "fail||"),
			verdict: "1 tests passed, 0 failed, 0 skipped, in 1 packages something failed", out: "a.go:1: undefined\nFAIL p [build failed]\n",
		},
		{
			name: "no test", events: "no event\n",
			verdict: "0 tests passed, 0 failed, 0 skipped, in 0 packages something failed", out: "no event\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(tt.events)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.out, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.verdict, r.verdict()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if r.ok() != tt.ok {
				t.Errorf("ok is %v", r.ok())
			}
		})
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	want := "2 real Envoy and 1 real Redis processes started"
	if diff := cmp.Diff(want, processes("envoy\nredis\nenvoy\n")); diff != "" {
		t.Error(diff)
	}
}
