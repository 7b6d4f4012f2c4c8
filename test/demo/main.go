// Command demo starts the real Envoy, rls with the example rules and an upstream,
// sends requests until one is refused, and ends everything.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/eb50146d/rls/test/proc"
)

// The rules in config/examples admit fewer requests of a tenant at once.
const (
	tenant = "/?tenant=acme"
	most   = 200
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "rls-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder
	root, err := proc.Root()
	if err != nil {
		return err
	}
	program, err := proc.Build(ctx, root, "./cmd/rls", dir)
	if err != nil {
		return err
	}

	var ports proc.Ports
	rls, err := proc.StartRLS(ctx, program, &ports, filepath.Join(root, "config", "examples"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rls.Stop()) }()
	upstream := proc.NewUpstream(func() time.Time { return time.Time{} })
	defer upstream.Close()
	envoy, err := startEnvoy(ctx, root, &ports, rls, upstream)
	if err != nil {
		return err
	}
	defer envoy.Stop() //nolint:errcheck // how Envoy ends does not matter

	fmt.Fprintf(out, "Envoy listens on %s, rls on %s with the rules in config/examples\n",
		proc.Loopback(envoy.Listener), proc.Loopback(rls.GRPC))
	return send(ctx, out, "http://"+proc.Loopback(envoy.Listener)+tenant)
}

func startEnvoy(ctx context.Context, root string, ports *proc.Ports, rls *proc.RLS, upstream *proc.Upstream) (*proc.Envoy, error) {
	program, err := proc.FindEnvoy(root)
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(root, "envoy", "http-ratelimit.yaml")) //nolint:gosec // in our tree
	if err != nil {
		return nil, err
	}
	return proc.StartEnvoy(ctx, program, ports, string(config), rls.GRPC, upstream.Port())
}

// send asks until a request is refused.
func send(ctx context.Context, out io.Writer, url string) error {
	defer http.DefaultClient.CloseIdleConnections()
	fmt.Fprintln(out, "GET", url)
	for i := 1; i <= most; i++ {
		resp, err := get(ctx, url)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%3d  %s\n", i, resp.Status)
		if resp.StatusCode == http.StatusTooManyRequests {
			return resp.Header.Write(out)
		}
	}
	return fmt.Errorf("none of %d requests is refused: config/examples has no rule for tenant in the domain shop", most)
}

func get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, errors.Join(err, resp.Body.Close())
}
