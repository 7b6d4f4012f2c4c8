package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// StartSentinel starts a Redis sentinel and returns when it answers. More are lines
// of its configuration, which is kept in folder, as the sentinel rewrites it.
func StartSentinel(ctx context.Context, path, folder string, ports *Ports, more string) (*Redis, error) {
	port, err := ports.Take(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, fmt.Sprintf("sentinel-%d.conf", port))
	text := "bind 127.0.0.1\nport " + strconv.Itoa(port) + "\n" + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("configuring a sentinel: %w", err)
	}
	s := &Redis{Port: port}
	if s.Process, err = Start(ctx, "Redis sentinel", path, file, "--sentinel"); err != nil {
		return nil, err
	}
	if err := errors.Join(countStart(KindRedis), s.Await(ctx, s.ping)); err != nil {
		s.Stop() //nolint:errcheck // the first error says more
		return nil, err
	}
	return s, nil
}
