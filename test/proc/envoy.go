package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
)

// The ports in the Envoy configurations that ship.
const (
	ShippedListener = 10000
	ShippedRLS      = 8081
	ShippedUpstream = 9000
	ShippedAdmin    = 9901
)

// FindEnvoy returns the path of the real Envoy, which make deps has installed.
func FindEnvoy(root string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, ".venv", "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("found %d Envoys under %s/.venv, want one: run make deps", len(found), root)
	}
	return found[0], nil
}

// Envoy is a running Envoy.
type Envoy struct {
	*Process

	Listener int // port
	Admin    int // port
}

// StartEnvoy starts the program at path with a shipped configuration whose other
// servers are at the given ports, and returns when Envoy is live.
func StartEnvoy(ctx context.Context, path string, ports *Ports, config string, rls, upstream int) (*Envoy, error) {
	e := &Envoy{}
	for _, port := range []*int{&e.Listener, &e.Admin} {
		var err error
		if *port, err = ports.Take(ctx); err != nil {
			return nil, err
		}
	}
	config, err := ReplacePorts(config, map[int]int{
		ShippedListener: e.Listener, ShippedAdmin: e.Admin, ShippedRLS: rls, ShippedUpstream: upstream,
	})
	if err != nil {
		return nil, err
	}
	e.Process, err = Start(ctx, "Envoy", path, "--config-yaml", config, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(countStart(KindEnvoy), e.Await(ctx, e.live)); err != nil {
		e.Stop() //nolint:errcheck // the first error says more
		return nil, err
	}
	return e, nil
}

// live asks the admin page, which says LIVE when the listener is open.
func (e *Envoy) live(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Loopback(e.Admin)+"/ready", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	body, err := io.ReadAll(resp.Body)
	if err == nil && strings.TrimSpace(string(body)) != "LIVE" {
		return fmt.Errorf("admin says %q", body)
	}
	return err
}
