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

// TestTable has a row a scenario and a cell a controller.
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
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[2], "steady ") || !strings.HasPrefix(lines[3], "underload ") {
		t.Fatalf("the table is\n%s", out.String())
	}
	for _, line := range lines[2:] {
		if cells := strings.Count(line, " / "); cells != len(model.Contenders()) {
			t.Errorf("%d cells, want %d: %s", cells, len(model.Contenders()), line)
		}
	}
}
