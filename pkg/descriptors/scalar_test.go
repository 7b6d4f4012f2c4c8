package descriptors_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// TestNumbers has every notation of a whole number; the results are yaml.v2's.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7": "7", "+7": "7", "017": "15", "0o17": "15", "0O17": "15", "0x10": "16", "0X10": "16", "0b101": "5", "1_000": "1000", "1__0": "10",
		"0x_1": "1", "!!int '5'": "5", "4294967295": "4294967295", "~": "0", "": "0",
		"4294967296": "type_mismatch", "-1": "type_mismatch", "-0b101": "type_mismatch", "'5'": "type_mismatch", "five": "type_mismatch",
		"1,000": "type_mismatch", "yes": "type_mismatch", "2026-01-01": "type_mismatch", "[1]": "type_mismatch", "!!str 5": "type_mismatch",
		"-9223372036854775809": "bad_scalar", "08": "bad_scalar", "1.0": "bad_scalar", "1e3": "bad_scalar", ".inf": "bad_scalar",
		"9223372036854775808": "bad_scalar", "!!float 5": "bad_scalar",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			rules := "domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    unit: day\n    requests_per_unit: " + text + "\n"
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(rules)}}, descriptors.Options{})
			if got := outcome(tree, findings, func(r *descriptors.Rule) string { return strconv.FormatUint(uint64(r.RequestsPerUnit), 10) }); got != want {
				t.Errorf("%q gives %s, want %s", text, got, want)
			}
		})
	}
}

// outcome is what a tree's first rule has, or the class of the first error.
func outcome(tree *descriptors.Tree, findings descriptors.Findings, of func(*descriptors.Rule) string) string {
	if tree != nil {
		return of(tree.Rules[0])
	}
	for _, f := range findings {
		if f.Severity == descriptors.Error {
			return string(f.Class)
		}
	}
	return ""
}

func TestBooleans(t *testing.T) {
	t.Parallel()
	want := map[string]string{"!!bool yes": "true", "~": "false", "": "false"}
	for _, yes := range []string{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"} {
		want[yes] = "true"
	}
	for _, no := range []string{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"} {
		want[no] = "false"
	}
	for _, bad := range []string{"1", "0", "yEs", "tRUE", "'yes'", `"true"`, "!!str yes", "t", "[]", "{}"} {
		want[bad] = "type_mismatch"
	}
	want["1.5"] = "bad_scalar"
	for text, want := range want {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			rules := "domain: d\ndescriptors:\n- key: k\n  rate_limit: {requests_per_unit: 1, unit: day}\n  shadow_mode: " + text + "\n"
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(rules)}}, descriptors.Options{})
			if got := outcome(tree, findings, func(r *descriptors.Rule) string { return strconv.FormatBool(r.Shadow) }); got != want {
				t.Errorf("%q gives %s, want %s", text, got, want)
			}
		})
	}
}

// TestTexts: text is as it is written.
func TestTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"42": "42", "017": "017", "0x10": "0x10", "1_000": "1_000", "-5": "-5", "yes": "yes", "Off": "Off", "true": "true", "2026-01-01": "2026-01-01",
		"2026-01-01T10:00:00Z": "2026-01-01T10:00:00Z", "12:30:45": "12:30:45", "9223372036854775807": "9223372036854775807", "<<": "<<",
		"1e400": "1e400", "0b2": "0b2", "'1.5'": "1.5", "!!str 1.5": "1.5", "!own x": "x", "!!binary aGk=": "hi", "~": "", "null": "", "''": "",
		"1.5": "bad_scalar", ".5": "bad_scalar", "1e3": "bad_scalar", "08": "bad_scalar", ".nan": "bad_scalar", "-.inf": "bad_scalar", "1_0.5": "bad_scalar",
		"9223372036854775808": "bad_scalar", "18446744073709551616": "bad_scalar", "!!float 5": "bad_scalar", "!!binary '?'": "bad_scalar",
		"[a]": "type_mismatch", "{a: b}": "type_mismatch",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			rules := "domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    requests_per_unit: 1\n    unit: day\n    name: " + text + "\n"
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(rules)}}, descriptors.Options{})
			if got := outcome(tree, findings, func(r *descriptors.Rule) string { return r.Name }); got != want {
				t.Errorf("%q gives %q, want %q", text, got, want)
			}
		})
	}
}

// TestMergeKeys: what << merges is as if it stood there, so what comes after it
// wins over it, and it over what comes before, as in yaml.v2.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, limit, want, warning string }{
		{"after", "{<<: *x, requests_per_unit: 5}", "5/hour", ""},
		{"before", "{requests_per_unit: 5, <<: *x}", "1/hour", "merged_over"},
		{"the first of a list", "{<<: [*y, *x]}", "2/hour", ""},
		{"the first of a list, turned round", "{<<: [*x, *y]}", "1/hour", ""},
		{"twice", "{<<: *x, <<: *y}", "2/hour", ""},
		{"in what is merged", "{<<: {<<: *x, requests_per_unit: 7}}", "7/hour", ""},
		{"written down", "{<<: {unit: day, requests_per_unit: 3}}", "3/day", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rules := "domain: d\ndescriptors:\n- {key: unused, metadata: {x: &x {requests_per_unit: 1, unit: hour}, y: &y {requests_per_unit: 2}}}\n" +
				"- {key: k, rate_limit: " + row.limit + "}\n"
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f", Data: []byte(rules)}}, descriptors.Options{})
			got := outcome(tree, findings, func(r *descriptors.Rule) string { return fmt.Sprintf("%d/%s", r.RequestsPerUnit, r.Unit) })
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if row.warning == "" && len(findings) > 0 || row.warning != "" && (len(findings) != 1 || string(findings[0].Class) != row.warning) {
				t.Errorf("findings %v, want %q", findings, row.warning)
			}
		})
	}
}
