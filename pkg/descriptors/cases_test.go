package descriptors_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// The cases that envoyproxy/ratelimit was run with; each is a set of files.
type (
	caseFile struct {
		Cases    []behaviour
		Invalid  []invalid
		Accepted []accepted
	}
	behaviour struct {
		Name   string
		Config string
		Files  []namedYAML
		Steps  []struct {
			Domain      string
			Descriptors []struct{ Entries []descriptors.Entry }
			Expect      struct {
				Statuses []struct {
					NoLimit         bool    `yaml:"no_limit"`
					RequestsPerUnit *uint32 `yaml:"requests_per_unit"`
					Unit            string
				}
			}
		}
		After struct{ Stats map[string]int }
	}
	invalid struct {
		Name, Reason string
		MergeDomains bool `yaml:"merge_domains"`
		Files        []namedYAML
	}
	accepted struct {
		Name  string
		Files []namedYAML
	}
	namedYAML struct{ Name, YAML string }
)

func readCases(t *testing.T, pattern string) []caseFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "cases", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", pattern, err)
	}
	files := make([]caseFile, len(paths))
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, &files[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return files
}

func sources(files []namedYAML) []descriptors.Source {
	all := make([]descriptors.Source, len(files))
	for i, f := range files {
		all[i] = descriptors.Source{Name: f.Name, Data: []byte(f.YAML)}
	}
	return all
}

// TestCasesRefused: what envoyproxy/ratelimit refuses is refused for the same
// reason, and somewhere.
func TestCasesRefused(t *testing.T) {
	t.Parallel()
	for _, row := range readCases(t, "invalid-configs.yaml")[0].Invalid {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			tree, findings := descriptors.Compile(sources(row.Files), descriptors.Options{MergeDomains: row.MergeDomains})
			found := slices.ContainsFunc(findings, func(f descriptors.Finding) bool {
				return f.Severity == descriptors.Error && string(f.Class) == row.Reason && f.File != "" && f.Line > 0 && f.Column > 0
			})
			if tree != nil || !found {
				t.Errorf("loaded = %v with %v, want an error of class %s with a position", tree != nil, findings, row.Reason)
			}
		})
	}
}

// TestCasesAccepted: what envoyproxy/ratelimit accepts loads to the same effect,
// with a warning where it looks wrong.
func TestCasesAccepted(t *testing.T) {
	t.Parallel()
	want := map[string][]string{ // rules, then classes of warnings
		"no-descriptors":                      nil,
		"no-files":                            nil,
		"missing-requests-per-unit":           {"d.k 0/day", "missing_requests_per_unit"},
		"unlimited-with-requests":             {"d.k unlimited", "ignored_setting"},
		"unlimited-with-nonsense-unit":        {"d.k unlimited", "ignored_setting"},
		"shadow-mode-inside-rate-limit":       {"d.k 1/day", "wrong_level"},
		"unit-beside-key":                     {"wrong_level", "wrong_level"},
		"null-rate-limit":                     nil,
		"replaces-an-unknown-name":            {"d.k 1/day", "unknown_name"},
		"integer-value":                       {"d.k_42 1/day"},
		"boolean-value":                       {"d.k_yes 1/day"},
		"second-yaml-document":                {"more_documents"},
		"duplicate-map-key":                   {"repeated_key"},
		"star-in-the-key":                     {"d.k* 1/day"},
		"wildcard-shadowed-by-an-earlier-one": {"d.k_a* 1/day", "d.k_ab* 2/day", "unreachable_rule"},
		"quota-and-shadow-together":           {"d.k 1/day shadow quota"},
		"share-threshold-without-limit":       nil,
		"metadata-of-any-shape":               {"d.k 1/day"},
	}
	rows := readCases(t, "accepted-odd-configs.yaml")[0].Accepted
	if len(rows) != len(want) {
		t.Errorf("%d cases, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			tree, findings := descriptors.Compile(sources(row.Files), descriptors.Options{})
			if tree == nil {
				t.Fatal(findings)
			}
			var got []string
			for _, r := range tree.Rules {
				got = append(got, effect(r))
			}
			for _, f := range findings {
				got = append(got, string(f.Class))
			}
			if diff := cmp.Diff(want[row.Name], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLastDomainWins is the effect of the two cases that leave no rule to see.
func TestLastDomainWins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"domain: d\ndomain: e\n": "e", "domain: d\n---\ndomain: e\nnonsense: 1\n": "d"} {
		if domains := compile(t, text).Domains(); len(domains) != 1 || domains[0].Name != want {
			t.Errorf("%q has domains %v, want %s", text, domains, want)
		}
	}
}

// TestCasesMatch: each descriptor of the cases leads to the rule whose limit its
// status shows, or to none.
func TestCasesMatch(t *testing.T) {
	t.Parallel()
	for _, file := range readCases(t, "0[12]*.yaml") {
		for _, row := range file.Cases {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				tree := row.compile(t)
				for _, s := range row.Steps {
					for i, asked := range s.Descriptors {
						want := s.Expect.Statuses[i]
						r := match(tree, s.Domain, asked.Entries)
						switch {
						case want.NoLimit != (r == nil):
							t.Errorf("%v leads to %v, want none = %v", asked.Entries, r, want.NoLimit)
						case r != nil && (r.RequestsPerUnit != *want.RequestsPerUnit || !strings.EqualFold(r.Unit.String(), want.Unit)):
							t.Errorf("%v leads to %s, want %d/%s", asked.Entries, effect(r), *want.RequestsPerUnit, want.Unit)
						}
					}
				}
			})
		}
	}
}

// TestCasesStatKeys: each descriptor of the cases is booked under a key that the
// case names, and each such key has one.
func TestCasesStatKeys(t *testing.T) {
	t.Parallel()
	for _, file := range readCases(t, "0[28]*.yaml") {
		for _, row := range file.Cases {
			if row.After.Stats == nil {
				continue
			}
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				tree, got, want := row.compile(t), map[string]bool{}, map[string]bool{}
				for _, s := range row.Steps {
					for _, asked := range s.Descriptors {
						got[match(tree, s.Domain, asked.Entries).StatKey(asked.Entries)] = true
					}
				}
				for stat, n := range row.After.Stats {
					if key := stat[:strings.LastIndex(stat, ".")]; n > 0 {
						want[key] = true
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func (b behaviour) compile(t *testing.T) *descriptors.Tree {
	t.Helper()
	files := b.Files
	if files == nil {
		files = []namedYAML{{"rules.yaml", b.Config}}
	}
	tree, findings := descriptors.Compile(sources(files), descriptors.Options{})
	if tree == nil {
		t.Fatal(findings)
	}
	return tree
}

// match finds the rule in a domain, the only one if it has no name.
func match(tree *descriptors.Tree, domain string, e []descriptors.Entry) *descriptors.Rule {
	if domain == "" {
		domain = tree.Domains()[0].Name
	}
	if d := tree.Domain(domain); d != nil {
		return d.Match(e)
	}
	return nil
}

// effect is a rule in short.
func effect(r *descriptors.Rule) string {
	text := r.Path + " unlimited"
	if !r.Unlimited {
		text = fmt.Sprintf("%s %d/%s", r.Path, r.RequestsPerUnit, r.Unit)
	}
	if r.Shadow {
		text += " shadow"
	}
	if r.Quota {
		text += " quota"
	}
	return text
}
