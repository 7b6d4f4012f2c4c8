// Package settings reads what the operator sets: every setting is a flag and an
// environment variable, the flag wins.
package settings

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Settings are the checked settings of a command.
type Settings struct {
	Config       string // directory of the rule files, or one file
	Compat       string // "" or envoyproxy
	MergeDomains bool
	Shadow       bool // no rule is enforced
	Quota        bool // every rule is a quota rule
	Backend      string
	LocalMaxKeys int
	Redis        Redis
	Shared       Shared
	Legacy       Legacy

	GRPCAddr, HTTPAddr, AdminAddr string
	GRPCTLS                       GRPCTLS
	FeedbackAllow                 []string // who may report, beyond loopback
	PProf                         bool
	DrainDelay                    time.Duration // between the signal to end and the end of service
	DrainTimeout                  time.Duration // for the requests that are then under way
	LogLevel, LogFormat           string
	LogValues                     bool // descriptors' values are logged as they are

	ResponseHeaders                           []string // of retry-after, x-ratelimit and ietf
	LimitHeaders                              bool     // the three below
	LimitHeader, RemainingHeader, ResetHeader string
	ResponseMetadata                          bool

	Format string   // of replay's output
	Args   []string // what follows the flags
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
	for _, name := range c.Flags {
		s.define(set, name)
	}
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
	s.complete(set)
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// dashes writes flags the way that we document them.
func dashes(text string) string {
	for _, before := range []string{"not defined: ", "for flag ", "for ", "needs an argument: "} {
		text = strings.Replace(text, before+"-", before+"--", 1)
	}
	return strings.ReplaceAll(text, "---", "--")
}

// variables are the environment variables of a flag, ours first: RLS_GRPC_ADDR
// for grpc-addr.
func variables(flagName string) []string {
	own := "RLS_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
	return append([]string{own}, also[flagName]...)
}

func fromEnvironment(set *flag.FlagSet, env func(string) (string, bool)) error {
	var errs []error
	set.VisitAll(func(f *flag.Flag) {
		for _, name := range variables(f.Name) {
			value, ok := env(name)
			if !ok || value == "" {
				continue
			}
			if err := set.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("invalid value %q for %s: %w", value, name, err))
			}
			return
		}
	})
	return errors.Join(errs...)
}

// complete fills in what depends on another setting.
func (s *Settings) complete(set *flag.FlagSet) {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if s.Compat != "" && !given["admin-addr"] {
		s.AdminAddr = ":6070" // where envoyproxy/ratelimit has it
	}
	s.Redis.Plain = given["redis-tls"] && !s.Redis.TLS
	s.GRPCTLS.complete(given["grpc-tls"])
	if !s.LimitHeaders {
		s.LimitHeader, s.RemainingHeader, s.ResetHeader = "", "", ""
	}
}

func (s *Settings) check() error {
	switch {
	case s.Compat != "" && s.Compat != "envoyproxy":
		return fmt.Errorf("--compat is %q, must be envoyproxy or nothing", s.Compat)
	case s.Backend != "" && s.Backend != "local" && s.Backend != "redis":
		return fmt.Errorf("--backend is %q, must be local or redis", s.Backend)
	case s.Format != "" && s.Format != "json" && s.Format != "table":
		return fmt.Errorf("--format is %q, must be json or table", s.Format)
	case s.LocalMaxKeys < 0 || s.Backend != "" && s.LocalMaxKeys == 0:
		return fmt.Errorf("--local-max-keys is %d, must be at least 1", s.LocalMaxKeys)
	case s.DrainDelay < 0 || s.DrainTimeout < 0:
		return errors.New("--drain-delay and --drain-timeout must not be negative")
	}
	for name, address := range map[string]string{"--grpc-addr": s.GRPCAddr, "--http-addr": s.HTTPAddr} {
		if s.LogFormat != "" && address == "" { // a command that listens
			return fmt.Errorf("%s is empty, must be an address such as :8081", name)
		}
	}
	if s.Backend == "redis" {
		if err := s.checkRedis(); err != nil {
			return err
		}
	}
	if err := s.GRPCTLS.check(); err != nil {
		return err
	}
	return s.checkHeaders()
}

func (s *Settings) checkHeaders() error {
	for _, h := range s.ResponseHeaders {
		if !slices.Contains(responseHeaders, h) {
			return fmt.Errorf("--response-headers has %q, must be of %s", h, strings.Join(responseHeaders, ", "))
		}
	}
	for _, h := range []string{s.LimitHeader, s.RemainingHeader, s.ResetHeader} {
		if strings.ContainsFunc(h, notInName) || s.LimitHeaders && h == "" {
			return fmt.Errorf("%q is no header name, must be letters, digits and dashes", h)
		}
	}
	return nil
}

// notInName says whether a character cannot be in a header's name (RFC 9110, 5.1).
func notInName(c rune) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

func usage(c Command, set *flag.FlagSet, out io.Writer) error {
	var b strings.Builder
	b.WriteString(c.Usage)
	b.WriteString("\n\nFlags, each with its environment variables:\n")
	set.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		head := strings.TrimSpace("--" + f.Name + " " + kind)
		fmt.Fprintf(&b, "  %s\n        %s (default %s, %s)\n", head, text, cmp.Or(f.DefValue, "nothing"), strings.Join(variables(f.Name), ", "))
	})
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return ErrHelp
}
