package descriptors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// TestMergeDomains: files of one domain add up in the order of their names.
func TestMergeDomains(t *testing.T) {
	t.Parallel()
	const rule = "rate_limit: {requests_per_unit: 1, unit: day}"
	a := "domain: d\ndefaults: {algorithm: gcra, on_error: deny}\ndescriptors: [{key: a, " + rule + "}, {key: p, value: 'x*', " + rule + "}]\n"
	b := "domain: d\ndefaults: {charge: independent, allow_refunds: false}\ndescriptors: [{key: b, " + rule + "}, {key: p, value: '*y', " + rule + "}]\n"
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "b.yaml", Data: []byte(b)}, {Name: "a.yaml", Data: []byte(a)}}, descriptors.Options{MergeDomains: true})
	if tree == nil {
		t.Fatal(findings)
	}
	d := tree.Domain("d")
	if d.Charge != descriptors.Independent || d.AllowRefunds {
		t.Errorf("charge %d, refunds %v, want what b.yaml says", d.Charge, d.AllowRefunds)
	}
	one, other := d.Match(entries("a", "1")), d.Match(entries("b", "1"))
	if one.Limit.Kind() != algorithms.GCRA || one.OnError != descriptors.OnErrorDeny || !one.AlgorithmNamed {
		t.Errorf("%+v, want a.yaml's defaults", one)
	}
	if other.Limit.Kind() != algorithms.FixedWindow || other.OnError != descriptors.OnErrorFail || other.AlgorithmNamed {
		t.Errorf("%+v, want no defaults", other)
	}
	if r := d.Match(entries("p", "xy")); r.Path != "d.p_x*" {
		t.Errorf("xy leads to %s, want the first file's pattern", r.Path)
	}
}

func TestMergeDomainsRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, a, b, want string }{
		{"a rule twice", "descriptors: [{key: k}]", "descriptors: [{key: k, value: ''}]", "b:2:15: d.k: key and value, joined by _, are those of a, line 2"},
		{"no deep merge", "descriptors: [{key: k, descriptors: [{key: x}]}]", "descriptors: [{key: k, descriptors: [{key: y}]}]", "b:2:15: d.k: key and value, joined by _, are those of a, line 2"},
		{"charge", "defaults: {charge: independent}", "defaults: {charge: all_or_nothing}", "b:2:20: defaults: charge is all_or_nothing, another file of domain d says independent"},
		{"refunds", "defaults: {allow_refunds: true}", "defaults: {allow_refunds: false}", "b:2:27: defaults: allow_refunds is false, another file of domain d says true"},
		{"the same charge", "defaults: {charge: independent}", "defaults: {charge: independent}", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, findings := descriptors.Compile([]descriptors.Source{
				{Name: "a", Data: []byte("domain: d\n" + row.a + "\n")}, {Name: "b", Data: []byte("domain: d\n" + row.b + "\n")},
			}, descriptors.Options{MergeDomains: true})
			got := ""
			if err := findings.Err(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNamesOfADomain: replaces sees the rules of all its domain's files, and
// none of another domain.
func TestNamesOfADomain(t *testing.T) {
	t.Parallel()
	const named = "descriptors: [{key: k, rate_limit: {name: n, unlimited: true}}]\n"
	replacing := "domain: d\ndescriptors: [{key: x, rate_limit: {unlimited: true, replaces: [{name: n}]}}]\n"
	for domain, want := range map[string]int{"d": 0, "e": 1} {
		tree, findings := descriptors.Compile([]descriptors.Source{
			{Name: "a", Data: []byte(replacing)}, {Name: "b", Data: []byte("domain: " + domain + "\n" + named)},
		}, descriptors.Options{MergeDomains: true})
		if tree == nil || len(findings) != want {
			t.Errorf("domain %s: %v, want %d warnings", domain, findings, want)
		}
	}
}
