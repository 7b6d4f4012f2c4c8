// Package proc starts the real programs that tests, demonstration and benchmark
// need, on free loopback ports, and ends them.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// StartsEnv names the file to which each start of a counted kind appends a line.
	StartsEnv = "RLS_TEST_STARTS"
	// KindEnvoy is a counted kind.
	KindEnvoy = "envoy"
	// KindRedis is the other.
	KindRedis = "redis"

	readyTimeout = time.Minute            // generous: the machine may be busy
	stopTimeout  = 30 * time.Second       // from SIGTERM to SIGKILL
	pollInterval = 20 * time.Millisecond  // between two looks at a starting program
	checkTimeout = 500 * time.Millisecond // of one look
)

// Process is a started program. It gets SIGTERM when the context that it was
// started with ends, and SIGKILL if it does not obey.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output output
	done   chan struct{} // closed when the program has ended
	err    error         // how it ended; read after done
}

// Start runs the program at path.
func Start(ctx context.Context, name, path string, args ...string) (*Process, error) {
	return startWith(ctx, name, path, nil, args...)
}

// startWith adds variables, as name=value, to the environment.
func startWith(ctx context.Context, name, path string, env []string, args ...string) (*Process, error) {
	p := &Process{name: name, done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, path, args...) //nolint:gosec // the programs under test
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = attributes()
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = stopTimeout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Await looks with check until it finds no fault, and fails when the program ends
// before that.
func (p *Process) Await(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := look(ctx, check)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %w; its output:\n%s", p.name, p.ended(), p.Output())
		case <-ctx.Done():
			return fmt.Errorf("awaiting %s: %w; its output:\n%s", p.name, err, p.Output())
		case <-tick.C:
		}
	}
}

func look(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return check(ctx)
}

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() error {
	return p.cmd.Process.Signal(syscall.SIGTERM)
}

// Wait waits for the program's end and tells how it ended: nil is exit status 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Stop terminates the program, by force if it does not obey in 30 s, and tells how
// it ended, as Wait does.
func (p *Process) Stop() error {
	if err := p.Terminate(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("terminating %s: %w", p.name, err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.done
	return fmt.Errorf("%s did not end in %v after SIGTERM; its output:\n%s", p.name, stopTimeout, p.Output())
}

func (p *Process) ended() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// PID is the process' number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output is what the program has printed so far.
func (p *Process) Output() string { return p.output.String() }

// output is a buffer that may be read while the program writes.
type output struct {
	mu   sync.Mutex
	data []byte
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, b...)
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.data)
}

// countStart records a real start for the closing line of make test.
func countStart(kind string) error {
	path := os.Getenv(StartsEnv)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // named by make test
	if err != nil {
		return fmt.Errorf("counting a start: %w", err)
	}
	_, err = f.WriteString(kind + "\n")
	return errors.Join(err, f.Close())
}
