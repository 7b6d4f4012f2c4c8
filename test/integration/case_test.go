package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// testCase is a conformance case: calls on one store that is empty at first, and
// what a drop-in replacement of envoyproxy/ratelimit answers.
type testCase struct {
	Name      string
	Feature   string
	Config    string
	Deviation string
	Quirk     bool
	Needs     []string
	Env       map[string]string
	Files     []caseFile
	Steps     []caseStep
}

type caseFile struct{ Name, YAML string }

type caseStep struct {
	Domain      *string
	At          int64 // s since the epoch; 0 = unchanged
	Repeat      int
	HitsAddend  uint32 `yaml:"hits_addend"`
	Descriptors []caseDescriptor
	Expect      caseExpect
}

type caseDescriptor struct {
	Entries    []struct{ Key, Value string }
	HitsAddend *uint64 `yaml:"hits_addend"`
	Limit      *struct {
		RequestsPerUnit uint32 `yaml:"requests_per_unit"`
		Unit            string
	}
}

type caseExpect struct {
	Error, Overall  string
	Statuses        []caseStatus
	Headers         map[string]string
	NoHeaders       bool           `yaml:"no_headers"`
	DynamicMetadata map[string]any `yaml:"dynamic_metadata"`
}

type caseStatus struct {
	Code            string
	NoLimit         bool `yaml:"no_limit"`
	NoCurrentLimit  bool `yaml:"no_current_limit"`
	Unit, Name      *string
	LimitRemaining  *uint32 `yaml:"limit_remaining"`
	RequestsPerUnit *uint32 `yaml:"requests_per_unit"`
	ResetSeconds    *int64  `yaml:"reset_seconds"`
}

// cases reads the behaviour cases that need no Redis.
func cases(t *testing.T) []testCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/0*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []testCase
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Cases []testCase }
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range file.Cases {
			if !slices.Contains(c.Needs, "redis") {
				all = append(all, c)
			}
		}
	}
	if len(all) != 56 {
		t.Fatalf("%d cases, want 56", len(all))
	}
	return all
}

// write puts the case's rule files into a directory.
func (c *testCase) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := c.Files
	if files == nil {
		files = []caseFile{{"rules.yaml", c.Config}}
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.YAML), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
