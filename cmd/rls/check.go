package main

import (
	"fmt"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
)

func check(args []string, p *process) error {
	s, err := read(settings.Command{
		Name: "check",
		Usage: "rls check DIR reports every error and warning of the rule files in DIR as file:line:column.\n" +
			"It prints nothing and exits 0 if there is none; it exits 1 if there is an error.",
		Flags: []string{"config", "compat", "merge-domain-config"},
	}, args, p)
	if err != nil {
		return err
	}
	switch len(s.Args) {
	case 0:
	case 1:
		s.Config = s.Args[0]
	default:
		return usageError{fmt.Errorf("unexpected argument %q; rls check takes one directory", s.Args[1])}
	}
	sources, err := rules.Read(s.Config, ruleOptions(s))
	if err != nil {
		return usageError{err}
	}
	_, findings := rules.Compile(sources, ruleOptions(s))
	for _, f := range findings {
		if _, err := fmt.Fprintln(p.stdout, f.Long()); err != nil {
			return fmt.Errorf("writing the findings: %w", err)
		}
	}
	if findings.Err() != nil {
		return errReported
	}
	return nil
}

func ruleOptions(s *settings.Settings) rules.Options {
	return rules.Options{Compat: s.Compat != "", MergeDomains: s.MergeDomains}
}
