package adaptive

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStories(t *testing.T) {
	t.Parallel()
	tell(t, stories())
}

func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			_, got := st.play()
			if got.Reason != st.why || !near(st.limit, got.Limit) {
				t.Errorf("limit %v (%s), want %v (%s)\n%+v", got.Limit, got.Reason, st.limit, st.why, got)
			}
		})
	}
}

func TestEveryReasonHasAStory(t *testing.T) {
	t.Parallel()
	told := map[Reason]bool{Restored: true} // TestRestoreOfAnotherRelease
	for _, st := range stories() {
		told[st.why] = true
	}
	for _, r := range Reasons() {
		if !told[r] {
			t.Errorf("no story ends with %q", r)
		}
	}
}

// Reasons lists each constant of reason.go, and each is explained there.
func TestReasonsAreListedAndExplained(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var want []Reason
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0])
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Doc == nil {
			t.Errorf("%s is not explained", spec.Names[0])
		}
		want = append(want, Reason(text))
		return true
	})
	if diff := cmp.Diff(want, Reasons()); diff != "" {
		t.Error(diff)
	}
}
