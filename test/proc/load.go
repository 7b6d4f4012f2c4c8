package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
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

// Growth asks rls once for each of many visitors, a gcra rule of test/bench/rules,
// and returns by how many bytes its resident memory has grown. Requests for another
// key come first, so that connections and the like are not counted.
func Growth(ctx context.Context, path string, rls *RLS, keys int) (int64, error) {
	ask := []string{"-addr", Loopback(rls.GRPC), "-domain", "bench"}
	if _, err := Load(ctx, path, append(ask, "-key", "user_id", "-requests", "20000")...); err != nil {
		return 0, err
	}
	before, err := RSS(rls.PID())
	if err != nil {
		return 0, err
	}
	r, err := Load(ctx, path, append(ask, "-key", "visitor", "-values", strconv.Itoa(keys), "-requests", strconv.Itoa(keys))...)
	if err != nil {
		return 0, err
	}
	if r.OK != int64(keys) {
		return 0, fmt.Errorf("%d visitors admitted, %d refused, %d failed: %s", r.OK, r.Over, r.Failed, r.FirstFault)
	}
	after, err := RSS(rls.PID())
	return after - before, err
}
