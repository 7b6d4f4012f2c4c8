package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/eb50146d/rls/test/demo-adaptive/loop"
)

func header(out io.Writer, kind loop.Kind) {
	unit := "a second"
	if kind == loop.Concurrency {
		unit = "at once"
	}
	fmt.Fprintf(out, "\n%v (its limit is of requests %s)\n  s  bears  offered  in time  late  refused  limit\n", kind, unit)
}

func row(out io.Writer, i int, s loop.Second) {
	line := fmt.Sprintf("%3d %6.0f %8d %8d %5d %8d %6.0f  %s", i, s.Capacity, s.Offered, s.InTime, s.Late+s.Failed, s.Refused, s.Limit, s.Reason)
	fmt.Fprintln(out, strings.TrimRight(line, " ")) // Envoy gives no reasons
}

// summary compares the runs, phase by phase.
func summary(out io.Writer, all []series, phase int) {
	fmt.Fprintf(out, "\n%-30s %21s %21s %21s\n%-30s", "", "before", "with 40 % of the speed", "after", "")
	for range 3 {
		fmt.Fprintf(out, " %12s %8s", "in time/s", "late")
	}
	fmt.Fprintln(out)
	for _, s := range all {
		fmt.Fprintf(out, "%-30v", s.kind)
		for i := range 3 {
			sum := loop.Sum(s.seconds[i*phase : (i+1)*phase])
			fmt.Fprintf(out, " %12.0f %7.1f%%", float64(sum.InTime)/float64(phase), 100*sum.LateShare())
		}
		fmt.Fprintln(out)
	}
}
