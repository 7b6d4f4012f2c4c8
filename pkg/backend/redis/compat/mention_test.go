package compat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/test/proc"
)

// TestNothingElseKnowsOfCompat: counting refused hits is one charge of the contract
// and one flag of the fixed window, and the form of envoyproxy/ratelimit's keys is
// this package's. Who else comes to know of either has to be on these lists.
func TestNothingElseKnowsOfCompat(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, pattern string
		want          []string // packages, or where only one file may know, that
	}{
		{"counting refused hits", `(?i)count_?refused|countalways|\bop == 2\b`, []string{
			"cmd/rls/internal/rules", "cmd/rls/internal/service", "pkg/algorithms/fixed.go", "pkg/backend", "pkg/backend/backendtest",
			"pkg/backend/local", "pkg/backend/redis", "pkg/backend/redis/compat", "pkg/backend/redis/lua/fixed.lua",
		}},
		{"the keys", `\bLegacy\b`, []string{
			"cmd/rls/internal/server", "cmd/rls/internal/service", "cmd/rls/internal/settings", "cmd/rls/internal/store",
			"pkg/backend", "pkg/backend/redis/compat",
		}},
		{"the package", `"[^"]*/redis/compat"`, []string{"cmd/rls/internal/service", "cmd/rls/internal/store"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, mentions(t, regexp.MustCompile(row.pattern))); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

// mentions are the places of the module whose code has a pattern, tests apart.
func mentions(t *testing.T, pattern *regexp.Regexp) (places []string) {
	t.Helper()
	root, err := proc.Root()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && path != "." {
				return fs.SkipDir
			}
			return err
		}
		if lua := filepath.Ext(path) == ".lua"; !lua && filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err == nil && pattern.Match(text) {
			places = append(places, place(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// place is a file's package, and the file itself among algorithms and scripts.
func place(path string) string {
	dir := filepath.Dir(path)
	if dir == "pkg/algorithms" || filepath.Ext(path) == ".lua" {
		return path
	}
	return dir
}
