package descriptors_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// FuzzCompile: whatever a file holds, it loads or every error has a place in it.
func FuzzCompile(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, findings := descriptors.Compile([]descriptors.Source{{Name: "f.yaml", Data: data}}, descriptors.Options{})
		if (tree == nil) != (findings.Err() != nil) {
			t.Fatalf("loaded = %v with findings %v", tree != nil, findings)
		}
		if tree == nil {
			return
		}
		for _, r := range tree.Rules {
			if got := tree.Domain(r.Domain).Match(withValues(r.Entries)); got == nil {
				t.Fatalf("rule %s is not reached by its own entries", r.Path)
			}
		}
	})
}

// withValues fills in a value where any would do.
func withValues(e []descriptors.Entry) []descriptors.Entry {
	filled := make([]descriptors.Entry, len(e))
	for i := range e {
		filled[i] = e[i]
		if e[i].Value == "" {
			filled[i].Value = "\x00unlikely"
		}
	}
	return filled
}
