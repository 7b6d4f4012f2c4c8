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
	legend(out, scenarios, seeds)
	contenders := model.Contenders()
	fmt.Fprintf(out, "\n%-21s", "")
	for _, c := range contenders {
		fmt.Fprintf(out, " %-20s", title(c.Name))
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

// legend says what the figures, the columns and the rows are.
func legend(out io.Writer, scenarios []model.Scenario, seeds uint64) {
	fmt.Fprintf(out, `A simulated service under each limit. A cell has, as means of %d runs:
  what was answered in time, as a share of what could have been (1 is the best)
  / late answers, %% of the admitted
  / seconds from a fall of capacity until the limit is down, where there is one
  / seconds from its return until answers are back, where there is one; - is never
Columns: rls is what the product does, static a limit that does not move, the others are classic controllers.
Rows: if not said otherwise the service bears 500 requests/s, and 750 are offered.
`, seeds)
	for _, sc := range scenarios {
		fmt.Fprintf(out, "  %-21s %s\n", sc.Name, sc.About)
	}
}

// title is what a column is called: the product's controller is not known by its own
// name to those who use it.
func title(contender string) string {
	if contender == "delivered" {
		return "rls"
	}
	return contender
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
