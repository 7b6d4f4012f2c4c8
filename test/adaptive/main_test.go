package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/test/adaptive/model"
)

func TestCell(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    model.Figures
		want string
	}{
		{"nothing to shrink from", model.Figures{"goodput": 0.925, "late": 0.0004}, "0.93 / 0.0"},
		{"shrunk and back", model.Figures{"goodput": 0.8, "late": 0.0164, "shrink_s": 2, "recover_s": 10.6}, "0.80 / 1.6 / 2 / 11"},
		{"never", model.Figures{"goodput": 0.2, "late": 0.5, "shrink_s": 99, "recover_s": 99}, "0.20 / 50.0 / - / -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, cell(tt.f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTable has a line about each scenario, then a row a scenario and a cell a
// controller, of which rls is one.
func TestTable(t *testing.T) {
	t.Parallel()
	scenarios, err := model.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	scenarios = scenarios[:2]
	for i := range scenarios {
		scenarios[i].Duration = 30
	}
	var out strings.Builder
	if err := table(&out, scenarios, 1, 1); err != nil {
		t.Fatal(err)
	}
	about, rows, _ := strings.Cut(strings.TrimSpace(out.String()), "\n\n")
	for _, sc := range scenarios {
		if sc.About == "" || !strings.Contains(about, sc.Name) || !strings.Contains(about, sc.About) {
			t.Errorf("nothing is said about %s:\n%s", sc.Name, about)
		}
	}
	lines := strings.Split(rows, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "steady ") || !strings.HasPrefix(lines[2], "underload ") {
		t.Fatalf("the table is\n%s", rows)
	}
	if diff := cmp.Diff([]string{"static", "aimd", "gradient2", "vegas", "pid", "rls"}, strings.Fields(lines[0])); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	for _, line := range lines[1:] {
		if cells := strings.Count(line, " / "); cells != len(model.Contenders()) {
			t.Errorf("%d cells, want %d: %s", cells, len(model.Contenders()), line)
		}
	}
}
