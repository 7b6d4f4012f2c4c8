package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// table is what was measured, in the order of the first round.
type table []*series

// series is one figure of every round. A ratio is of the same round, so that slow
// minutes of the machine cancel out.
type series struct {
	name, unit string
	values     []float64
}

func (t *table) add(name, unit string, value float64) {
	i := slices.IndexFunc(*t, func(s *series) bool { return s.name == name })
	if i < 0 {
		i = len(*t)
		*t = append(*t, &series{name: name, unit: unit})
	}
	(*t)[i].values = append((*t)[i].values, value)
}

// print writes medians.
func (t table) print(out io.Writer, each time.Duration) {
	if len(t) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%d rounds of %v, CPU time of a request\n", len(t[0].values), each)
	for _, s := range t {
		least, median, most := s.spread()
		fmt.Fprintf(out, "%-18s median %6.3f (%.3f to %.3f)%s\n", s.name, median, least, most, s.unit)
	}
	fmt.Fprintln(out)
}

func (s *series) spread() (least, median, most float64) {
	values := slices.Sorted(slices.Values(s.values))
	middle := len(values) / 2
	median = values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return values[0], median, values[len(values)-1]
}
