// Command rls is a rate-limit service for Envoy.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc/grpclog"

	"github.com/eb50146d/rls/cmd/rls/internal/server"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
)

// version is set when a release is built.
var version = "dev" //nolint:gochecknoglobals // the linker writes it

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // rule files with an error, a bad trace, a server that broke down
	exitUsage  = 2 // an unknown flag, a directory that cannot be read, an address in use
)

// process is what a command gets from the world.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	now            func() time.Time
	signals        server.Signals
	logGRPC        func(grpclog.LoggerV2) // gRPC has one log a process, set before its first use
}

func main() {
	now := time.Now //nolint:forbidigo // the one clock, handed to whatever needs it
	os.Exit(run(os.Args[1:], &process{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, now, signals(), grpclog.SetLoggerV2}))
}

// signals turns SIGTERM and SIGHUP into a drain and SIGINT, which a person sends,
// into a stop. They stay caught until the process ends.
func signals() server.Signals {
	drain, stop := make(chan struct{}), make(chan struct{})
	terms, ints := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(ints, syscall.SIGINT)
	forward := func(from <-chan os.Signal, to chan<- struct{}) {
		for range from {
			to <- struct{}{}
		}
	}
	go forward(terms, drain)
	go forward(ints, stop)
	return server.Signals{Drain: drain, Stop: stop}
}

const usage = `rls is a rate-limit service for Envoy.

  rls [serve] [flags]            answer Envoy's rate-limit requests
  rls check [flags] [DIR]        report every error and warning of rule files
  rls replay [flags] TRACE.jsonl what the rules answer to recorded traffic
  rls version                    print the version

rls COMMAND --help lists a command's flags.`

// run runs one command and gives its exit code.
func run(args []string, p *process) int {
	name, args := commandOf(args)
	var err error
	switch name {
	case "":
		if _, err = fmt.Fprint(p.stdout, usage, "\n\n"); err == nil {
			err = serve([]string{"--help"}, p)
		}
	case "serve":
		err = serve(args, p)
	case "check":
		err = check(args, p)
	case "replay":
		err = replayTrace(args, p)
	case "version":
		_, err = fmt.Fprintln(p.stdout, "rls", version)
	default:
		err = usageError{fmt.Errorf("unknown command %q, must be serve, check, replay or version", name)}
	}
	return exitCode(err, p.stderr)
}

// commandOf splits the arguments into a command and the rest; "" asks for help.
func commandOf(args []string) (name string, rest []string) {
	switch {
	case len(args) == 0:
		return "serve", nil
	case args[0] == "help" && len(args) > 1:
		return args[1], []string{"--help"}
	case args[0] == "help" || args[0] == "--help" || args[0] == "-h":
		return "", nil
	case args[0] == "--version":
		return "version", nil
	case args[0] == "" || args[0][0] == '-':
		return "serve", args
	default:
		return args[0], args[1:]
	}
}

// usageError is an error of how rls was called.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitCode prints an error, one line, and says how to exit.
func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, settings.ErrHelp):
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "rls: %s\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// errReported is an error that has been printed already.
var errReported = errors.New("reported")

func read(c settings.Command, args []string, p *process) (*settings.Settings, error) {
	s, err := settings.Read(c, args, p.env, p.stdout)
	if err != nil && !errors.Is(err, settings.ErrHelp) {
		return nil, usageError{err}
	}
	return s, err
}

func background() context.Context { return context.Background() }
