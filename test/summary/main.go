// Command summary runs go test with the given arguments and closes with one line
// that counts the tests, and the real Envoy and Redis processes that they started.
// It fails when a test failed or was skipped, and when none ran.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/eb50146d/rls/test/proc"
)

func main() {
	ok, err := run(context.Background(), os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (ok bool, err error) {
	starts, err := os.CreateTemp("", "rls-starts-")
	if err != nil {
		return false, fmt.Errorf("creating the list of started processes: %w", err)
	}
	defer os.Remove(starts.Name()) //nolint:errcheck // a leftover empty file in the temporary folder
	defer starts.Close()           //nolint:errcheck // only read

	r := newReport(out)
	if err := goTest(ctx, args, starts.Name(), r); err != nil {
		return false, err
	}
	list, err := io.ReadAll(starts)
	if err != nil {
		return false, fmt.Errorf("reading the list of started processes: %w", err)
	}
	fmt.Fprintf(out, "%s; %s\n", r.verdict(), processes(string(list)))
	return r.ok(), nil
}

// goTest feeds the events of go test to r.
func goTest(ctx context.Context, args []string, starts string, r *report) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the caller's own arguments
	cmd.Env = append(os.Environ(), proc.StartsEnv+"="+starts)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("piping go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	if err := r.read(events); err != nil {
		return fmt.Errorf("reading the events of go test: %w", err)
	}
	err = cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		r.exitFailed = true // and the reason is printed
		return nil
	}
	return err
}

// processes counts the kinds in a list that has one on each line.
func processes(list string) string {
	count := map[string]int{}
	for kind := range strings.FieldsSeq(list) {
		count[kind]++
	}
	return fmt.Sprintf("%d real Envoy and %d real Redis processes started", count[proc.KindEnvoy], count[proc.KindRedis])
}
