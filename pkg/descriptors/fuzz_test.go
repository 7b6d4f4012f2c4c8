package descriptors_test

import (
	"os"
	"path/filepath"
	"strings"
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
		for _, f := range findings {
			if f.File == "" || f.Line < 1 || f.Column < 1 || f.Class == "" || strings.Contains(f.String(), "\n") {
				t.Fatalf("%+v, want a class, a place and one line", f)
			}
		}
		if tree == nil {
			return
		}
		for _, r := range tree.Rules {
			r.StatKey(r.Entries)
			if r.Limit != nil {
				r.AppendKey(nil, r.Limit, r.Entries)
			}
		}
	})
}
