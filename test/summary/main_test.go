package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestRun runs go test on packages of this module whose tests are quick, and on one
// that is not there.
func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		ok   bool
		last string
	}{
		{
			name: "passes", args: []string{"-run", "TestProcesses", "."}, ok: true,
			last: "^1 tests passed; 0 real Envoy and 0 real Redis processes started$",
		},
		{name: "no test", args: []string{"-run", "TestNothing", "."}, last: "^0 tests passed, 0 failed, 0 skipped"},
		{name: "no package", args: []string{"./missing"}, last: "^0 tests passed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			ok, err := run(t.Context(), tt.args, &out)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; err != nil || ok != tt.ok || !regexp.MustCompile(tt.last).MatchString(last) {
				t.Errorf("ok %v, error %v, last line %q", ok, err, last)
			}
		})
	}
}
