// Package integration tests the built rls as a black box, behind the real Envoy
// with the configurations that ship. It builds the program itself, which go test
// does not know: a bare go test may show an old result, make test and -count=1 never.
package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/eb50146d/rls/test/proc"
)

// programs is what the tests start, made once by TestMain.
var programs struct {
	ports            proc.Ports
	root             string
	rls, load, envoy string // paths
	clocked          string // rls with a clock that tests set
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rls-integration-")
	if err == nil {
		defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder
		err = prepare(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func prepare(ctx context.Context, dir string) error {
	var errs [5]error
	programs.root, errs[0] = proc.Root()
	programs.envoy, errs[1] = proc.FindEnvoy(programs.root)
	programs.rls, errs[2] = proc.Build(ctx, programs.root, "./cmd/rls", dir)
	programs.load, errs[3] = proc.Build(ctx, programs.root, "./test/load", dir)
	programs.clocked, errs[4] = proc.BuildTagged(ctx, programs.root, "./cmd/rls", dir, "testclock")
	return errors.Join(errs[:]...)
}

// shipped reads a configuration from envoy/.
func shipped(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(programs.root, "envoy", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
