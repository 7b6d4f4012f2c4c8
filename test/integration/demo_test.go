package integration

import (
	"strings"
	"testing"

	"github.com/eb50146d/rls/test/proc"
)

// TestDemo runs make demo's program: the shipped Envoy configuration, as it is, with
// the example rules.
func TestDemo(t *testing.T) {
	t.Parallel()
	program, err := proc.Build(t.Context(), programs.root, "./test/demo", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	demo, err := proc.Start(t.Context(), "demo", program)
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("the demonstration ended with %v", err)
	}
	for _, want := range []string{"  1  200 OK\n", "429 Too Many Requests\n", "Retry-After: ", `;name="per-tenant"`} {
		if !strings.Contains(demo.Output(), want) {
			t.Errorf("no %q in:\n%s", want, demo.Output())
		}
	}
}
