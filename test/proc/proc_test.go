package proc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sh(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(t.Context(), "sh", "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ready(what string, p *Process) func(context.Context) error {
	return func(context.Context) error {
		if !strings.Contains(p.Output(), what) {
			return errors.New("not yet")
		}
		return nil
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{name: "ready", script: "echo ready; exec sleep 1000"},
		{name: "ends before with success", script: "echo early", want: "exit status 0; its output:\nearly\n"},
		{name: "ends before with a fault", script: "echo early >&2; exit 3", want: "exit status 3; its output:\nearly\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sh(t, tt.script)
			var got string
			if err := p.Await(t.Context(), ready("ready", p)); err != nil {
				got = strings.TrimPrefix(err.Error(), "sh ended before it was ready: ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAwaitContext(t *testing.T) {
	t.Parallel()
	p := sh(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Await(ctx, func(context.Context) error {
		cancel()
		return errors.New("not yet")
	})
	if err == nil || !strings.Contains(err.Error(), "awaiting sh: not yet") {
		t.Errorf("error is %v", err)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{name: "obeys", script: "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"},
		{name: "obeys with a fault", script: "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done", want: "exit status 4"},
		{name: "has ended", script: "echo ready"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sh(t, tt.script)
			if tt.name == "has ended" {
				<-p.done
			} else if err := p.Await(t.Context(), ready("ready", p)); err != nil {
				t.Fatal(err)
			}
			var got string
			if err := p.Stop(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestContext pins that the end of the context ends the program, in order.
func TestContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, "sleep", "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("ended with %v", err)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	var ports Ports
	seen := map[int]bool{}
	for range 2000 { // many enough to draw some twice
		port, err := ports.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < firstPort || port > lastPort {
			t.Errorf("port %d is seen or out of range", port)
		}
		seen[port] = true
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", Loopback(0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was accepted
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || free(t.Context(), addr.Port) {
		t.Errorf("%v is in use, and said to be free", l.Addr())
	}
}

func TestReplacePorts(t *testing.T) {
	t.Parallel()
	const config = "a: {port_value: 80}\nb: {port_value: 8081}\nc: {port_value: 80}\n"
	tests := []struct {
		name      string
		ports     map[int]int
		want, err string
	}{
		{name: "each place, whole numbers", ports: map[int]int{80: 1}, want: "a: {port_value: 1}\nb: {port_value: 8081}\nc: {port_value: 1}\n"},
		{name: "crossing", ports: map[int]int{80: 8081, 8081: 80}, want: "a: {port_value: 8081}\nb: {port_value: 80}\nc: {port_value: 8081}\n"},
		{name: "missing", ports: map[int]int{80: 1, 9000: 2}, err: "the Envoy configuration has no port_value: 9000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReplacePorts(config, tt.ports)
			var text string
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]string{tt.want, tt.err}, []string{got, text}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindEnvoy(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := FindEnvoy(root); err == nil || !strings.HasSuffix(err.Error(), "run make deps") {
		t.Errorf("without one: %v", err)
	}
	want := filepath.Join(root, ".venv", "lib", "python3.11", "site-packages", "envoy", "_bin", "envoy")
	if err := os.MkdirAll(filepath.Dir(want), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := FindEnvoy(root)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestCountStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "starts")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(StartsEnv, path)
	for _, kind := range []string{KindEnvoy, KindRedis} {
		if err := countStart(kind); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff("envoy\nredis\n", string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	before := used(t)
	for before < 10*tick {
		before = used(t)
	}
	cpu, err := CPU(os.Getpid())
	if after := used(t); err != nil || cpu < before-2*tick || cpu > after {
		t.Errorf("CPU time is %v, %v, want %v to %v", cpu, err, before-2*tick, after)
	}
	if n, err := RSS(os.Getpid()); err != nil || n < 1<<20 || n > 1<<40 {
		t.Errorf("resident memory is %d bytes, %v", n, err)
	}
	if _, err := CPU(1 << 30); err == nil {
		t.Error("no process, no error")
	}
}

// used is the CPU time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
