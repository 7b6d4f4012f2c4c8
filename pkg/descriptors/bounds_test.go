package descriptors_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// refusedAs compiles one file that holds too much, and checks that it allocates
// no more than so many MiB on the way.
func refusedAs(t *testing.T, text, class string, mib uint64) {
	t.Helper()
	sources := []descriptors.Source{{Name: "f", Data: []byte(text)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tree, findings := descriptors.Compile(sources, descriptors.Options{})
	runtime.ReadMemStats(&after)
	if tree != nil || len(findings) == 0 || len(findings) > 2*descriptors.MaxFindings {
		t.Fatalf("loaded = %v, %d findings", tree != nil, len(findings))
	}
	found := false
	for _, f := range findings {
		found = found || string(f.Class) == class
	}
	if !found {
		t.Errorf("%s, want class %s", findings[0], class)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > mib {
		t.Errorf("%d MiB allocated, want at most %d", got, mib)
	}
}

// bomb is levels of lists, each of ten aliases of the one before.
func bomb(first, format string, levels int) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n- &d0 " + first + "\n")
	for i := range levels {
		alias := fmt.Sprintf("*d%d", i)
		fmt.Fprintf(&b, "- &d%d "+format+"\n", i+1, strings.TrimSuffix(strings.Repeat(alias+", ", 10), ", "))
	}
	return b.String()
}

// TestBounds is not parallel: it counts what is allocated.
func TestBounds(t *testing.T) {
	const limit = "rate_limit: {requests_per_unit: 1, unit: day}"
	for _, row := range []struct {
		name, text, class string
		mib               uint64
	}{
		{"aliases of rules", bomb("{key: a, "+limit+"}", "{key: a, descriptors: [%[2]s]}", 9), "too_much", 200},
		{"aliases in metadata", bomb("{key: a, metadata: {a: b}}", "{key: a%[1]d, metadata: {a: [%[2]s]}}", 9), "too_much", 200},
		{"aliases in merge keys", bomb("{key: a}", "{key: a%[1]d, <<: [%[2]s]}", 9), "too_much", 200},
		{"aliases of mistakes", bomb("{ky: a, vale: b}", "{key: a, descriptors: [%[2]s]}", 9), "too_much", 200},
		{"an alias of itself", "domain: d\ndescriptors: &d\n- {key: a, descriptors: *d}\n- {key: b, descriptors: *d}\n", "too_much", 200},
		{"a merge of itself", "domain: d\ndescriptors: [&d {key: a, <<: *d}]\n", "too_much", 1},
		{"metadata of itself", "domain: d\ndescriptors: [{key: a, metadata: &m {a: *m, b: *m}}]\n", "too_much", 200},
		{"deep rules", "domain: d\ndescriptors: " + strings.Repeat("[{key: a, descriptors: ", 4000) + strings.Repeat("}]", 4000), "too_much", 200},
		{"deep metadata", "domain: d\ndescriptors: [{key: a, metadata: {a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}}]", "too_much", 200},
		{"deeper than the parser goes", "domain: " + strings.Repeat("[", 20_000), "yaml_syntax", 200},
		{"a file of 50 MB", "domain: d\n" + strings.Repeat("#\n", 25_000_000), "too_much", 1},
		{"mistakes", "domain: d\n" + strings.Repeat("x: 1\n", 100_000), "too_much", 200},
		{"words twice", "domain: d\ndescriptors: 1\n" + strings.Repeat("unit: 1\n", 100_000), "too_much", 200},
		{"a long line of mistakes", "{domain: d, " + strings.Repeat("x: 1, ", 100_000) + "}", "too_much", 200},
		{"mistakes at the end of a long line", "{domain: " + strings.Repeat("d", 5_000_000) + strings.Repeat(", x: 1", 2000) + "}", "too_much", 200},
		{"a long word", "domain: d\n" + strings.Repeat("x", 1000) + ": " + strings.Repeat("x", 5_000_000), "unknown_key", 200},
		{"a long value", "domain: d\ndescriptors: " + strings.Repeat("x", 5_000_000), "type_mismatch", 200},
	} {
		t.Run(row.name, func(t *testing.T) { refusedAs(t, row.text, row.class, row.mib) })
	}
}

// TestAliasesOfAFewRules: what people write stays far from the bounds.
func TestAliasesOfAFewRules(t *testing.T) {
	t.Parallel()
	tree := compile(t, bomb("{key: a, rate_limit: {requests_per_unit: 1, unit: day}}", "{key: b%[1]d, descriptors: [{key: c, <<: *d0}, {key: a%[1]d}]} # %[2]s", 2000))
	if len(tree.Rules) != 2001 {
		t.Errorf("%d rules, want 2001", len(tree.Rules))
	}
}

// TestManyFiles: a domain takes as many rules as there are from several files.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const files, each = 10, 5000
	tree, findings := descriptors.Compile(manyFiles(files, each), descriptors.Options{MergeDomains: true})
	if tree == nil || len(tree.Rules) != files*each {
		t.Fatal(findings)
	}
	for _, i := range []int{0, 12_345, files*each - 1} {
		if r := tree.Domain("d").Match(entries("k", fmt.Sprintf("v%d", i))); r == nil || r.Index != i {
			t.Errorf("v%d leads to %v, want rule %d", i, r, i)
		}
	}
}

func manyFiles(files, each int) []descriptors.Source {
	sources := make([]descriptors.Source, files)
	for f := range sources {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		for i := range each {
			fmt.Fprintf(&b, "- {key: k, value: v%d, rate_limit: {requests_per_unit: 1, unit: day}}\n", f*each+i)
		}
		sources[f] = descriptors.Source{Name: fmt.Sprintf("%02d", f), Data: []byte(b.String())}
	}
	return sources
}

func BenchmarkCompile(b *testing.B) {
	for _, files := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("rules=%d", files*10_000), func(b *testing.B) {
			sources := manyFiles(files, 10_000)
			b.ReportAllocs()
			for b.Loop() {
				descriptors.Compile(sources, descriptors.Options{MergeDomains: true})
			}
		})
	}
}
