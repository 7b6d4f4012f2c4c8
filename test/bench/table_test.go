package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		table table
		want  string
	}{
		{name: "no round"},
		{name: "odd", table: table{{10, 30}, {20, 20}, {40, 20}}, want: `
3 rounds of 2s, CPU time of a request
floor        median 20.000 (10.000 to 40.000) µs
rls          median 20.000 (20.000 to 30.000) µs
rls / floor  median  1.000 (0.500 to 3.000)

`},
		{name: "even", table: table{{10, 10}, {20, 40}}, want: `
2 rounds of 2s, CPU time of a request
floor        median 15.000 (10.000 to 20.000) µs
rls          median 25.000 (10.000 to 40.000) µs
rls / floor  median  1.500 (1.000 to 2.000)

`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			tt.table.print(&out, 2*time.Second)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
