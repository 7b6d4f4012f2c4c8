package descriptors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// TestTenMistakes: every mistake of a file is named, in its line.
func TestTenMistakes(t *testing.T) {
	t.Parallel()
	_, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: read(t, "testdata/bad/ten.yaml")}}, descriptors.Options{})
	var lines []int
	for _, f := range findings {
		if f.Severity == descriptors.Error {
			lines = append(lines, f.Line)
		}
	}
	if diff := cmp.Diff([]int{2, 5, 7, 9, 11, 13, 15, 16, 18, 20}, slices.Compact(lines)); diff != "" {
		t.Error(diff)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	f := descriptors.Finding{File: "f.yaml", Line: 2, Column: 3, Text: "it is"}
	for _, row := range []struct {
		name string
		with func(f *descriptors.Finding)
		want string
		long string // after the first line
	}{
		{"text", func(*descriptors.Finding) {}, "f.yaml:2:3: it is", ""},
		{"warning", func(f *descriptors.Finding) { f.Severity = descriptors.Warning }, "f.yaml:2:3: warning: it is", ""},
		{"path", func(f *descriptors.Finding) { f.Path = "d.a" }, "f.yaml:2:3: d.a: it is", ""},
		{"wanted", func(f *descriptors.Finding) { f.Wanted = "x" }, "f.yaml:2:3: it is, must be x", ""},
		{"nearest", func(f *descriptors.Finding) { f.Nearest = "y" }, "f.yaml:2:3: it is, did you mean y?", ""},
		{"both", func(f *descriptors.Finding) { f.Wanted, f.Nearest = "x", "y" }, "f.yaml:2:3: it is, did you mean y?", "\n  must be x"},
		{"excerpt", func(f *descriptors.Finding) { f.Excerpt = "  a\n  ^" }, "f.yaml:2:3: it is", "\n  a\n  ^"},
		{"more than a line", func(f *descriptors.Finding) { f.Path = "a\nb\x1b\u202e" }, `f.yaml:2:3: a\nb\x1b\u202e: it is`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := f
			row.with(&f)
			if diff := cmp.Diff([]string{row.want, row.want + row.long}, []string{f.String(), f.Long()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExcerpt: the caret stands below the column, in whatever the line has.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, row := range []struct{ name, text, want string }{
		{"first column", "wrong: 1\n", "  wrong: 1\n  ^"},
		{"no break at the end", "wrong: 1", "  wrong: 1\n  ^"},
		{"byte order mark", "\uFEFFwrong: 1", "  wrong: 1\n  ^"},
		{"tab", "{domain: d,\twrong: 1}", "  {domain: d,\twrong: 1}\n             \t^"},
		{"wide", `{"漢字": 1}`, "  {\"漢字\": 1}\n   ^"},
		{"after wide", `{domain: "漢字！", wrong: 1}`, "  {domain: \"漢字！\", wrong: 1}\n                     ^"},
		{"after narrow", `{domain: "é", wrong: 1}`, "  {domain: \"é\", wrong: 1}\n                ^"},
		{"after combining", "{domain: \"e\u0301\", wrong: 1}", "  {domain: \"e\u0301\", wrong: 1}\n                ^"},
		{"carriage returns", "domain: d\r\nwrong: 1\r\n", "  wrong: 1\n  ^"},
		{"old breaks", "domain: d\rwrong: 1\r", "  wrong: 1\n  ^"},
		{"long before", "{domain: " + long + ", wrong: 1}", "  …" + strings.Repeat("x", 58) + ", wrong: 1}\n   " + strings.Repeat(" ", 60) + "^"},
		{"long after", "{wrong: " + long + long + "}", "  {wrong: " + long + strings.Repeat("x", 12) + "…\n   ^"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(row.text)}}, descriptors.Options{})
			i := slices.IndexFunc(findings, func(f descriptors.Finding) bool { return f.Class == "unknown_key" })
			if i < 0 {
				t.Fatalf("found %v, want an unknown key", findings)
			}
			if diff := cmp.Diff(row.want, findings[i].Excerpt); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"ratelimit": "rate_limit", "rate-limit": "rate_limit", "rateLimit": "rate_limit", "rate_limits": "rate_limit", "requests_per_minute": "requests_per_unit",
		"request_per_unit": "requests_per_unit", "requestsPerUnit": "requests_per_unit", "requests": "requests_per_unit", "limit": "rate_limit",
		"Key": "key", "kye": "key", "ky": "key", "valeu": "value", "vlaue": "value", "descriptor": "descriptors", "shadow": "shadow_mode", "multiplier": "unit_multiplier",
		"algorythm": "algorithm", "unti": "unit", "max": "max_delay", "quant": "quantile", "burts": "burst",
		"yes": "", "zz": "", "x": "", "": "", "on": "", "version": "", "zzzzzz": "", "ra": "", strings.Repeat("key", 20): "",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			if got := descriptors.Nearest(word, descriptors.Words()); got != want {
				t.Errorf("%s is near %q, want %q", word, got, want)
			}
		})
	}
}

// TestEveryWordIsNearItself keeps words apart that differ in a letter.
func TestEveryWordIsNearItself(t *testing.T) {
	t.Parallel()
	for _, w := range descriptors.Words() {
		if got := descriptors.Nearest(w+"s", descriptors.Words()); len(w) > 2 && got != w && got != w+"s" {
			t.Errorf("%ss is near %q, want %s", w, got, w)
		}
	}
}

// TestEachFindingOnce: what two aliases lead to is wrong once.
func TestEachFindingOnce(t *testing.T) {
	t.Parallel()
	text := "domain: d\ndescriptors:\n- {key: a, rate_limit: &l {requests_per_unit: 1, unit: dya}}\n- {key: b, rate_limit: *l}\n- {key: c, rate_limit: *l}\n"
	_, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(text)}}, descriptors.Options{})
	if got := fmt.Sprint(findings); len(findings) != 1 || !strings.Contains(got, "did you mean day?") {
		t.Errorf("found %s, want one with a hint", got)
	}
}
