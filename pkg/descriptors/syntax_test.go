package descriptors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// TestSyntaxErrorsNameTheirLine, not the one where what they break begins.
func TestSyntaxErrorsNameTheirLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("  - {key: a, rate_limit: {unit: second}}\n", 20)
	for _, row := range []struct {
		name, text string
		line       int
	}{
		{"a comma", "domain: a\ndescriptors:\n  - key: k\n    rate_limit: {unit: second requests_per_unit: 3}\n", 4},
		{"an indent", "domain: a\ndescriptors:\n  - key: a\n    rate_limit:\n      unit: second\n      requests_per_unit: 1\n     burst: 3\n  - key: z\n", 7},
		{"a tab", "domain: a\ndescriptors:\n  - key: a\n\trate_limit: {}\n", 4},
		{"far below", "domain: a\ndescriptors:\n" + long + "  key: b\n", 23},
		{"a colon", "domain: a\ndescriptors:\n  - key: a: b\n", 3},
		{"a quote", "domain: a\ndescriptors:\n  - key: \"a\n", 3},
		{"the first line", "domain: [\n", 1},
		{"in a flow over lines", "domain: a\ndescriptors: [\n  {key: a},\n  {key: b]\n", 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(row.text)}}, descriptors.Options{})
			if got := fmt.Sprint(findings); len(findings) == 0 || findings[0].Line != row.line {
				t.Errorf("%s, want line %d", got, row.line)
			}
		})
	}
}
