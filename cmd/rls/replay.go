package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/eb50146d/rls/cmd/rls/internal/replay"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/cmd/rls/internal/store"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend"
)

func replayTrace(args []string, p *process) (err error) {
	s, err := read(settings.Command{
		Name: "replay",
		Usage: "rls replay TRACE.jsonl evaluates a trace with its own clock and prints every answer. A line of a trace:\n" +
			`{"t_ns": 1790000000000000000, "domain": "shop", "descriptors": [{"entries": [{"key": "tenant", "value": "a"}]}]}` +
			"\nTRACE may be - for standard input.",
		Flags: append(settings.RedisFlags(),
			"config", "compat", "merge-domain-config", "shadow-mode", "quota-mode", "backend", "local-max-keys", "format"),
	}, args, p)
	if err != nil {
		return err
	}
	if len(s.Args) != 1 {
		return usageError{fmt.Errorf("%d arguments after the flags; rls replay takes one, TRACE.jsonl", len(s.Args))}
	}
	set, err := load(s, p)
	if err != nil {
		return err
	}
	trace := p.stdin
	if s.Args[0] != "-" {
		file, err := os.Open(s.Args[0])
		if err != nil {
			return usageError{fmt.Errorf("reading the trace: %w", err)}
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		trace = file
	}
	return evaluate(s, set, trace, output(s.Format, p.stdout))
}

// evaluate replays a trace on the store that the settings name.
func evaluate(s *settings.Settings, set *rules.Set, trace io.Reader, out replay.Writer) error {
	var opening error // of the store, which is no fault of the trace
	c := replay.Config{
		Rules: set, Options: service.Options{Shadow: s.Shadow, Quota: s.Quota},
		Open: func(now func() int64) (b backend.Backend, closing func() error, err error) {
			b, closing, opening = store.OpenReplay(background(), s, now)
			return b, closing, opening
		},
	}
	err := replay.Trace(background(), c, trace, out)
	switch {
	case opening != nil:
		return usageError{opening}
	case err != nil:
		return fmt.Errorf("%s: %w", s.Args[0], err)
	}
	return nil
}

func output(format string, w io.Writer) replay.Writer {
	if format == "table" {
		return replay.Table(w)
	}
	return replay.JSON(w)
}

// load reads rules that must not have an error.
func load(s *settings.Settings, p *process) (*rules.Set, error) {
	sources, err := rules.Read(s.Config, ruleOptions(s))
	if err != nil {
		return nil, usageError{err}
	}
	tree, findings := rules.Compile(sources, ruleOptions(s))
	if tree == nil {
		for _, f := range findings {
			_, _ = fmt.Fprintln(p.stderr, f)
		}
		return nil, errReported
	}
	return rules.Bind(tree, ruleOptions(s), telemetry.New(version)), nil
}
