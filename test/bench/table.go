package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// pair is one round: CPU time of a request in microseconds.
type pair struct{ floor, rls float64 }

func (p pair) ratio() float64 { return p.rls / p.floor }

// table is all rounds.
type table []pair

// print writes medians. The ratio is of the same round, so that slow minutes of the
// machine cancel out.
func (t table) print(out io.Writer, each time.Duration) {
	if len(t) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%d rounds of %v, CPU time of a request\n", len(t), each)
	for _, row := range []struct {
		name, unit string
		of         func(pair) float64
	}{
		{"floor", " µs", func(p pair) float64 { return p.floor }},
		{"rls", " µs", func(p pair) float64 { return p.rls }},
		{"rls / floor", "", pair.ratio},
	} {
		s := t.spread(row.of)
		fmt.Fprintf(out, "%-12s median %6.3f (%.3f to %.3f)%s\n", row.name, s.median, s.least, s.most, row.unit)
	}
	fmt.Fprintln(out)
}

type spread struct{ least, median, most float64 }

func (t table) spread(of func(pair) float64) spread {
	values := make([]float64, len(t))
	for i, p := range t {
		values[i] = of(p)
	}
	slices.Sort(values)
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return spread{values[0], median, values[len(values)-1]}
}
