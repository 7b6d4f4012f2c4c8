package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// LoadResult counts the answers that the load generator got.
type LoadResult struct {
	OK         int64         `json:"ok"`
	Over       int64         `json:"over"`
	Failed     int64         `json:"failed"`      // gRPC errors, and any other overall code
	FirstFault string        `json:"first_fault"` // of the failed ones
	CPU        time.Duration `json:"cpu_ns"`      // what the service used meanwhile
}

// Load runs the load generator (test/load) at path.
func Load(ctx context.Context, path string, args ...string) (LoadResult, error) {
	var out, fault bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // our own program
	cmd.Stdout, cmd.Stderr = &out, &fault
	cmd.SysProcAttr = attributes()
	if err := cmd.Run(); err != nil {
		return LoadResult{}, fmt.Errorf("running the load generator: %w: %s", err, &fault)
	}
	var r LoadResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return LoadResult{}, fmt.Errorf("reading the load generator's result: %w", err)
	}
	return r, nil
}
