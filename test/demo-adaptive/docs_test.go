package main

import (
	"os"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestReasonsAreTold: the owner of a service finds each reason in the
// documentation, and none that there is not.
func TestReasonsAreTold(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/adaptive.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(data), "| reason |")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("no table of reasons")
	}
	for _, reason := range adaptive.Reasons() {
		if !strings.Contains(table, "\n| `"+string(reason)+"` | ") {
			t.Errorf("%q is not told", reason)
		}
	}
	if got := strings.Count(table, "\n| `"); got != len(adaptive.Reasons()) {
		t.Errorf("%d reasons are told, there are %d", got, len(adaptive.Reasons()))
	}
}
