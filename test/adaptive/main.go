// Command adaptive compares the adaptive controller with a static limit and with
// classic controllers, on the scenarios of its design, and prints a table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/eb50146d/rls/test/adaptive/model"
)

func main() {
	seeds := flag.Uint64("seeds", 5, "runs of every scenario")
	first := flag.Uint64("first", 1, "seed of the first run")
	flag.Parse()
	if err := run(os.Stdout, *first, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "adaptive:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, first, seeds uint64) error {
	scenarios, err := model.Scenarios()
	if err != nil {
		return err
	}
	weak, err := model.Weak()
	if err != nil {
		return err
	}
	return table(out, append(scenarios, weak...), first, seeds)
}

// table has a row a scenario and a column a controller.
func table(out io.Writer, scenarios []model.Scenario, first, seeds uint64) error {
	fmt.Fprintf(out, "goodput / late answers %% / s to shrink / s to recover, means of %d runs; - is never\n", seeds)
	contenders := model.Contenders()
	fmt.Fprintf(out, "%-21s", "")
	for _, c := range contenders {
		fmt.Fprintf(out, " %-20s", c.Name)
	}
	fmt.Fprintln(out)
	for _, sc := range scenarios {
		cells, err := row(&sc, contenders, first, seeds)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.Name, err)
		}
		fmt.Fprintf(out, "%-21s %s\n", sc.Name, strings.Join(cells, " "))
	}
	return nil
}

// row is a cell for each controller.
func row(sc *model.Scenario, contenders []model.Contender, first, seeds uint64) ([]string, error) {
	cells, errs := make([]string, len(contenders)), make([]error, len(contenders))
	var group sync.WaitGroup
	for i, c := range contenders {
		group.Go(func() {
			f, err := model.Average(sc, c.New, first, seeds)
			cells[i], errs[i] = fmt.Sprintf("%-20s", cell(f)), err
		})
	}
	group.Wait()
	return cells, errors.Join(errs...)
}

func cell(f model.Figures) string {
	parts := []string{fmt.Sprintf("%.2f", f["goodput"]), fmt.Sprintf("%.1f", 100*f["late"])}
	for _, name := range []string{"shrink_s", "recover_s"} {
		switch value, measured := f[name]; {
		case !measured:
		case value >= model.Never:
			parts = append(parts, "-")
		default:
			parts = append(parts, fmt.Sprintf("%.0f", value))
		}
	}
	return strings.Join(parts, " / ")
}
