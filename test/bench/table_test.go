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
		name       string
		floor, rls []float64 // by round
		want       string
	}{
		{name: "no round"},
		{name: "odd", floor: []float64{10, 20, 40}, rls: []float64{30, 20, 20}, want: `
3 rounds of 2s, CPU time of a request
floor              median 20.000 (10.000 to 40.000) µs
rls / floor        median  1.000 (0.500 to 3.000)

`},
		{name: "even", floor: []float64{10, 20}, rls: []float64{10, 40}, want: `
2 rounds of 2s, CPU time of a request
floor              median 15.000 (10.000 to 20.000) µs
rls / floor        median  1.500 (1.000 to 2.000)

`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var made table
			for i := range tt.floor {
				made.add("floor", " µs", tt.floor[i])
				made.add("rls / floor", "", tt.rls[i]/tt.floor[i])
			}
			var out strings.Builder
			made.print(&out, 2*time.Second)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
