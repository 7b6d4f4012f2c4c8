package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/server"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/descriptors"
)

func serve(args []string, p *process) error {
	s, err := read(settings.Command{
		Name:  "serve",
		Usage: "rls serve answers Envoy's rate-limit requests by the rules of a directory.",
		Flags: append(append(settings.RedisFlags(), settings.RedisServeFlags()...),
			"config", "compat", "merge-domain-config", "shadow-mode", "quota-mode", "backend", "local-max-keys", "grpc-addr", "http-addr",
			"admin-addr", "pprof", "grpc-tls", "grpc-tls-cert", "grpc-tls-key", "grpc-tls-client-ca", "grpc-tls-client-name", "feedback-allow",
			"response-headers", "limit-headers", "limit-header", "remaining-header", "reset-header",
			"response-metadata", "drain-delay", "drain-timeout", "log-level", "log-format",
			"log-values",
		),
	}, args, p)
	if err != nil {
		return err
	}
	if len(s.Args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q; the rules are given by --config DIR, and a switch is set off by --switch=false", s.Args[0])}
	}
	signal.Ignore(syscall.SIGPIPE) // whoever reads the log may go, the service stays
	log, err := telemetry.Logger(p.stderr, s.LogFormat, s.LogLevel)
	if err != nil {
		return usageError{err}
	}
	p.logGRPC(telemetry.GRPC(log))
	srv, err := server.New(background(), s, version, log, p.now)
	if err != nil {
		return usageError{err}
	}
	if s.LogFormat != "json" { // then what is printed is for programs
		_, _ = io.WriteString(p.stdout, greeting(srv, &s.GRPCTLS))
	}
	return srv.Run(p.signals)
}

// greeting says how to ask the server by hand.
func greeting(srv *server.Server, t *settings.GRPCTLS) string {
	how := "-plaintext"
	if t.Use {
		how = "-insecure" // which still encrypts
	}
	if t.ClientCA != "" {
		how += " -cert FILE -key FILE"
	}
	return fmt.Sprintf("rls %s answers on %s; try one of its rules:\ngrpcurl %s -d '%s' %s %s/ShouldRateLimit\n",
		version, srv.GRPCAddr(), how, example(srv.Rules()), dialable(srv.GRPCAddr()), service.Name)
}

// example is a request that leads to the rule of a set which refuses soonest.
func example(set *rules.Set) string {
	const fallback = `{"domain": "DOMAIN", "descriptors": [{"entries": [{"key": "KEY", "value": "VALUE"}]}]}`
	if set == nil || len(set.Tree.Rules) == 0 {
		return fallback
	}
	rule := slices.MinFunc(set.Tree.Rules, func(a, b *descriptors.Rule) int {
		return cmp.Compare(a.RequestsPerUnit-1, b.RequestsPerUnit-1) // 0, which denies, and unlimited come last
	})
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	type descriptor struct {
		Entries []entry `json:"entries"`
	}
	var d descriptor
	for _, e := range rule.Entries {
		d.Entries = append(d.Entries, entry{e.Key, cmp.Or(e.Value, "a")})
	}
	text, err := json.Marshal(struct {
		Domain      string       `json:"domain"`
		Descriptors []descriptor `json:"descriptors"`
	}{rule.Domain, []descriptor{d}})
	if err != nil {
		return fallback
	}
	return strings.ReplaceAll(string(text), "'", `'\''`)
}

// dialable is an address to reach a listener from the same machine.
func dialable(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
