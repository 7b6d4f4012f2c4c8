package descriptors_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/descriptors"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds what becomes of every file in testdata/good and bad: the
// findings in their long form, then the rules, beside the file.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"good", "bad"} {
		paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.yaml"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files in testdata/%s: %v", kind, err)
		}
		for _, path := range paths {
			t.Run(kind+"/"+filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				golden(t, path, kind == "good")
			})
		}
	}
}

func golden(t *testing.T, path string, good bool) {
	t.Helper()
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: filepath.Base(path), Data: read(t, path)}}, descriptors.Options{})
	if (tree != nil) != good {
		t.Errorf("loaded = %v, want %v\n%v", tree != nil, good, findings)
	}
	got := dump(tree, findings)
	file := strings.TrimSuffix(path, ".yaml") + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Error(diff)
	}
}

func dump(tree *descriptors.Tree, findings descriptors.Findings) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "[%s] %s\n", f.Class, f.Long())
	}
	if tree == nil {
		return b.String()
	}
	for _, d := range tree.Domains() {
		fmt.Fprintf(&b, "domain %s: charge %d, refunds %v\n", d.Name, d.Charge, d.AllowRefunds)
	}
	for _, r := range tree.Rules {
		fmt.Fprintf(&b, "%d %s (line %d)", r.Index, r.Path, r.Line)
		if r.Name != "" {
			fmt.Fprintf(&b, " called %s", r.Name)
		}
		if r.Unlimited {
			fmt.Fprintln(&b, ": unlimited"+more(r))
			continue
		}
		fmt.Fprintf(&b, ": kind %d, %d per %s (%d x %s), capacity %d, overdraft %d, buckets %d, on_error %d",
			r.Limit.Kind(), r.Limit.Limit(), r.Limit.Window(), r.UnitMultiplier, r.Unit, r.Limit.Capacity(), r.Limit.Overdraft(), r.Limit.Buckets(), r.OnError)
		if r.Shadow {
			b.WriteString(", shadow")
		}
		if r.Quota {
			b.WriteString(", quota")
		}
		if r.Adaptive != nil {
			fmt.Fprintf(&b, ", adaptive %+v", *r.Adaptive)
		}
		b.WriteString(more(r) + "\n")
	}
	return b.String()
}

func more(r *descriptors.Rule) string {
	text := ""
	if r.AlgorithmNamed {
		text += ", algorithm named"
	}
	if r.Replaces != nil {
		text += fmt.Sprintf(", replaces %q", r.Replaces)
	}
	if r.Metadata != nil {
		text += fmt.Sprintf(", metadata %v", r.Metadata)
	}
	return text
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
