// Package settings reads what the operator sets: every setting is a flag and an
// environment variable, the flag wins.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// Settings are the checked settings of a command.
type Settings struct {
	Config       string // directory of the rule files, or one file
	Backend      string
	LocalMaxKeys int
	GRPCAddr     string
	HTTPAddr     string
	DrainDelay   time.Duration // between the signal to end and the end of service
	DrainTimeout time.Duration // for the requests that are then under way
	LogLevel     string
	LogFormat    string
	Format       string   // of replay's output
	Args         []string // what follows the flags
}

// ErrHelp says that the usage text was asked for and written.
var ErrHelp = flag.ErrHelp

// Command says which flags a command has, and what its usage text begins with.
type Command struct {
	Name, Usage string
	Flags       []string
}

// Read reads a command's flags from args and the environment; help is written to
// out. An error is one line that says what to do.
func Read(c Command, args []string, env func(string) (string, bool), out io.Writer) (*Settings, error) {
	s := &Settings{}
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	s.define(set, c.Flags)
	if err := fromEnvironment(set, env); err != nil {
		return nil, err
	}
	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, usage(c, set, out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s; rls %s --help lists the flags", dashes(err.Error()), c.Name)
	}
	s.Args = set.Args()
	return s, s.check()
}

// dashes writes flags the way that we document them.
func dashes(text string) string {
	text = strings.Replace(text, "not defined: -", "not defined: --", 1)
	text = strings.Replace(text, "for flag -", "for flag --", 1)
	return strings.Replace(text, "needs an argument: -", "needs an argument: --", 1)
}

func (s *Settings) define(set *flag.FlagSet, names []string) {
	all := map[string]func(name string){
		"config": func(n string) {
			set.StringVar(&s.Config, n, "config/examples", "`directory` with the rule files (*.yaml, *.yml), or one file")
		},
		"backend": func(n string) {
			set.StringVar(&s.Backend, n, "local", "where states are kept; this version has `local`")
		},
		"local-max-keys": func(n string) {
			set.IntVar(&s.LocalMaxKeys, n, 2_000_000, "most `keys` that the local backend keeps, about 100 bytes each")
		},
		"grpc-addr": func(n string) { set.StringVar(&s.GRPCAddr, n, ":8081", "`address` of the gRPC services") },
		"http-addr": func(n string) {
			set.StringVar(&s.HTTPAddr, n, ":8080", "`address` of /healthcheck and /metrics")
		},
		"drain-delay": func(n string) {
			set.DurationVar(&s.DrainDelay, n, 5*time.Second, "`time` to go on serving after SIGTERM, while health says NOT_SERVING")
		},
		"drain-timeout": func(n string) {
			set.DurationVar(&s.DrainTimeout, n, 5*time.Second, "`time` for requests under way after that")
		},
		"log-level": func(n string) {
			set.StringVar(&s.LogLevel, n, "info", "least `level` logged: debug, info, warn or error")
		},
		"log-format": func(n string) { set.StringVar(&s.LogFormat, n, "console", "`format` of log lines: console or json") },
		"format":     func(n string) { set.StringVar(&s.Format, n, "json", "`format` of the answers: json or table") },
	}
	for _, name := range names {
		all[name](name)
	}
}

// Variable is the environment variable of a flag: RLS_GRPC_ADDR for grpc-addr.
func Variable(flagName string) string {
	return "RLS_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

func fromEnvironment(set *flag.FlagSet, env func(string) (string, bool)) error {
	var errs []error
	set.VisitAll(func(f *flag.Flag) {
		value, ok := env(Variable(f.Name))
		if !ok || value == "" {
			return
		}
		if err := set.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("invalid value %q for %s: %w", value, Variable(f.Name), err))
		}
	})
	return errors.Join(errs...)
}

func (s *Settings) check() error {
	switch {
	case s.Backend == "redis":
		return errors.New("--backend redis is not in this version; the local backend needs nothing to be installed")
	case s.Backend != "" && s.Backend != "local":
		return fmt.Errorf("--backend is %q, must be local", s.Backend)
	case s.Format != "" && s.Format != "json" && s.Format != "table":
		return fmt.Errorf("--format is %q, must be json or table", s.Format)
	case s.LocalMaxKeys < 0 || s.Backend != "" && s.LocalMaxKeys == 0:
		return fmt.Errorf("--local-max-keys is %d, must be at least 1", s.LocalMaxKeys)
	case s.DrainDelay < 0 || s.DrainTimeout < 0:
		return errors.New("--drain-delay and --drain-timeout must not be negative")
	default:
		return nil
	}
}

func usage(c Command, set *flag.FlagSet, out io.Writer) error {
	var b strings.Builder
	b.WriteString(c.Usage)
	b.WriteString("\n\nFlags, each with its environment variable:\n")
	set.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  --%s %s\n        %s (default %s, %s)\n", f.Name, kind, text, f.DefValue, Variable(f.Name))
	})
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return ErrHelp
}
