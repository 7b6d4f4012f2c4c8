package descriptors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/descriptors"
)

func manyChildren(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{key: b%d, rate_limit: {requests_per_unit: 2, unit: minute}}, ", i)
	}
	return b.String()
}

// TestWarnings: what loads but looks wrong, and what only looks like it.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const limit = "rate_limit: {requests_per_unit: 10, unit: minute}"
	for _, row := range []struct {
		name, rules string
		want        []string // line: class
	}{
		{"nothing at all", "", nil},
		{"nothing", "- {key: a, " + limit + "}", nil},
		{"an entry of a list of exceptions", "- {key: a, value: x}\n- {key: a, " + limit + "}", nil},
		{"a burst that is left out", "- {key: a, rate_limit: {algorithm: gcra, requests_per_unit: 17, period: 30s}}", nil},

		{"an earlier pattern", "- {key: a, value: 'x*', " + limit + "}\n- {key: a, value: 'xy*', " + limit + "}", []string{"4: unreachable_rule"}},
		{"the same in another form", "- {key: a, value: 'x**', " + limit + "}\n- {key: a, value: 'x*', " + limit + "}", []string{"4: unreachable_rule"}},
		{"two stars cover one", "- {key: a, value: '*b*', " + limit + "}\n- {key: a, value: 'ab*', " + limit + "}", []string{"4: unreachable_rule"}},
		{"a star in the key", "- {key: 'a*', " + limit + "}\n- {key: ab, value: 'x*', " + limit + "}", []string{"4: unreachable_rule"}},
		{"a later pattern", "- {key: a, value: 'xy*', " + limit + "}\n- {key: a, value: 'x*', " + limit + "}", nil},
		{"an overlap", "- {key: a, value: 'x*', " + limit + "}\n- {key: a, value: '*y', " + limit + "}", nil},
		{"an exact value goes first", "- {key: a, value: 'x*', " + limit + "}\n- {key: a, value: xy, " + limit + "}", nil},
		{"a key behind all values", "- {key: a, " + limit + "}\n- {key: a, value: '*', " + limit + "}", []string{"3: unreachable_rule"}},
		{"a key behind some values", "- {key: a, " + limit + "}\n- {key: a, value: 'x*', " + limit + "}", nil},
		{"another key", "- {key: b, " + limit + "}\n- {key: a, value: '*', " + limit + "}", nil},

		{"WC-11 a larger limit above", "- {key: a, " + limit + ", descriptors: [{key: b, rate_limit: {requests_per_unit: 2, unit: minute}}]}", []string{"3: parent_limit"}},
		{"WC-11 above two", "- {key: a, " + limit + ", descriptors: [{key: b, descriptors: [{key: c, rate_limit: {requests_per_unit: 100, unit: hour}}]}]}", []string{"3: parent_limit"}},
		{"WC-11 once for all below", "- {key: a, " + limit + ", descriptors: [{key: b, rate_limit: {requests_per_unit: 2, unit: minute}}, {key: c, rate_limit: {requests_per_unit: 2, unit: minute}}]}", []string{"3: parent_limit"}},
		{"WC-11 once for very many below", "- {key: a, " + limit + ", descriptors: [" + manyChildren(1100) + "]}", []string{"3: parent_limit"}},
		{"a smaller limit above", "- {key: a, " + limit + ", descriptors: [{key: b, rate_limit: {requests_per_unit: 5, unit: second}}]}", nil},
		{"the same limit above", "- {key: a, " + limit + ", descriptors: [{key: b, " + limit + "}]}", nil},
		{"a limit above a rule that denies", "- {key: a, " + limit + ", descriptors: [{key: b, rate_limit: {requests_per_unit: 0, unit: minute}}]}", nil},
		{"a limit above a rule without", "- {key: a, " + limit + ", descriptors: [{key: b, rate_limit: {unlimited: true}}]}", nil},

		{"an adaptive limit for each value", "- {key: a, rate_limit: {algorithm: adaptive, requests_per_unit: 10, unit: second, adaptive: {min_limit: 1, max_limit: 20}}}", []string{"3: adaptive_per_key"}},
		{"an adaptive limit shared by all values", "- {key: a, value: 'x*', share_threshold: true, rate_limit: {algorithm: adaptive, requests_per_unit: 10, unit: second, adaptive: {min_limit: 1, max_limit: 20}}}", nil},
		{"an adaptive limit of one value", "- {key: a, value: x, rate_limit: {algorithm: adaptive, requests_per_unit: 10, unit: second, adaptive: {min_limit: 1, max_limit: 20}}}", nil},
		{"a large log", "- {key: a, rate_limit: {algorithm: sliding_window, variant: log, requests_per_unit: 10001, unit: day}}", []string{"3: large_log"}},
		{"a log", "- {key: a, rate_limit: {algorithm: sliding_window, variant: log, requests_per_unit: 10000, unit: day}}", nil},

		{"shadow_mode without a limit", "- {key: a, shadow_mode: true}", []string{"3: mode_without_limit"}},
		{"quota_mode without a limit", "- {key: a, quota_mode: true, descriptors: [{key: b, " + limit + "}]}", []string{"3: mode_without_limit"}},
		{"no shadow_mode without a limit", "- {key: a, shadow_mode: false}", nil},

		{"WM-05 path", "- {key: path, value: /p, " + limit + "}", []string{"3: exact_path"}},
		{"WM-05 :path", "- {key: ':path', value: /p, descriptors: [{key: b, " + limit + "}]}", []string{"3: exact_path"}},
		{"WM-05 PATH", "- {key: PATH, value: /p, " + limit + "}", []string{"3: exact_path"}},
		{"a path with a star", "- {key: path, value: '/p*', " + limit + "}", nil},
		{"any path", "- {key: path, " + limit + "}", nil},
		{"a path without a limit", "- {key: path, value: /p}", nil},

		{"a name that no rule has", "- {key: a, rate_limit: {requests_per_unit: 1, unit: day, replaces: [{name: x}]}}", []string{"3: unknown_name"}},
		{"a name of a later rule", "- {key: a, rate_limit: {requests_per_unit: 1, unit: day, replaces: [{name: x}]}}\n- {key: b, rate_limit: {name: x, unlimited: true}}", nil},
		{"one name for two", "- {key: a, rate_limit: {name: x, unlimited: true}}\n- {key: b, rate_limit: {name: x, unlimited: true}}", []string{"4: repeated_name"}},
		{"a name that is a path", "- {key: a, " + limit + "}\n- {key: b, rate_limit: {name: d.a, unlimited: true}}", []string{"4: repeated_name"}},

		{"no requests_per_unit", "- {key: a, rate_limit: {unit: day}}", []string{"3: missing_requests_per_unit"}},
		{"a word of theirs in another place", "- {key: a, name: x, rate_limit: {key: x, requests_per_unit: 1, unit: day}}", []string{"3: wrong_level", "3: wrong_level"}},
		{"a word twice", "- {key: a, " + limit + ", key: b}", []string{"3: repeated_key"}},
		{"a word twice in metadata", "- {key: a, " + limit + ", metadata: {x: 1, x: 2}}", []string{"3: repeated_key"}},
		{"two documents", "- {key: a}\n---\nx: y", []string{"4: more_documents"}},
		{"a broken second document", "- {key: a}\n---\n'", []string{"4: more_documents"}},
		{"an end of the document", "- {key: a}\n...\n", nil},
		{"an end and another document", "- {key: a}\n...\n# x\n--- \nx: y", []string{"4: more_documents"}},
		{"an empty second document", "- {key: a}\n---\n\n# x\n", nil},
		{"what looks like a document", "- key: a\n  value: >-\n    x\n    ---\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte("domain: d\ndescriptors:\n" + row.rules + "\n")}}, descriptors.Options{})
			if tree == nil {
				t.Fatal(findings)
			}
			var got []string
			for _, f := range findings {
				got = append(got, fmt.Sprintf("%d: %s", f.Line, f.Class))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
