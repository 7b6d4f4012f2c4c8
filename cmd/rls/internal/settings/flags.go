package settings

import (
	"flag"
	"strings"
	"time"
)

var responseHeaders = []string{"retry-after", "x-ratelimit", "ietf"}

// also are the variables of envoyproxy/ratelimit that set the same as a flag.
var also = map[string][]string{
	"merge-domain-config": {"MERGE_DOMAIN_CONFIG"},
	"shadow-mode":         {"SHADOW_MODE"},
	"quota-mode":          {"QUOTA_MODE"},
	"response-metadata":   {"RESPONSE_DYNAMIC_METADATA"},
	"limit-headers":       {"LIMIT_RESPONSE_HEADERS_ENABLED"},
	"limit-header":        {"LIMIT_LIMIT_HEADER"},
	"remaining-header":    {"LIMIT_REMAINING_HEADER"},
	"reset-header":        {"LIMIT_RESET_HEADER"},
}

// define adds one flag to a set.
func (s *Settings) define(set *flag.FlagSet, name string) {
	text := func(to *string, standard, help string) { set.StringVar(to, name, standard, help) }
	yes := func(to *bool, help string) { set.BoolVar(to, name, false, help) }
	span := func(to *time.Duration, help string) { set.DurationVar(to, name, 5*time.Second, help) }
	switch name {
	case "config":
		text(&s.Config, "config/examples", "`directory` with the rule files (*.yaml, *.yml), or one file")
	case "compat":
		text(&s.Compat, "", "`program` whose counting rules without an algorithm follow: envoyproxy, or nothing")
	case "merge-domain-config":
		yes(&s.MergeDomains, "let several files add rules to one domain")
	case "shadow-mode":
		yes(&s.Shadow, "refuse no request; statuses and metrics still say what would be refused")
	case "quota-mode":
		yes(&s.Quota, "refuse a request only if all its rules are over")
	case "backend":
		text(&s.Backend, "local", "where states are `kept`: local")
	case "local-max-keys":
		set.IntVar(&s.LocalMaxKeys, name, 2_000_000, "most `keys` that the local backend keeps, about 100 bytes each")
	case "grpc-addr":
		text(&s.GRPCAddr, ":8081", "`address` of the gRPC services")
	case "http-addr":
		text(&s.HTTPAddr, ":8080", "`address` of /json, /healthcheck and /metrics")
	case "admin-addr":
		text(&s.AdminAddr, "127.0.0.1:6070", "`address` of the operator's pages, /config and /rlconfig; :6070 with --compat")
	case "pprof":
		yes(&s.PProf, "add /debug/pprof to the operator's pages")
	case "drain-delay":
		span(&s.DrainDelay, "`time` to go on serving after SIGTERM, while health says NOT_SERVING")
	case "drain-timeout":
		span(&s.DrainTimeout, "`time` for requests under way after that")
	case "log-level":
		text(&s.LogLevel, "info", "least `level` logged: debug, info, warn or error")
	case "log-values":
		yes(&s.LogValues, "write descriptors' values to the debug log as they are, not as hashes; they may be secrets")
	case "log-format":
		text(&s.LogFormat, "console", "`format` of log lines: console or json")
	case "response-headers":
		set.Var((*list)(&s.ResponseHeaders), name, "response headers to write, a comma `list` of "+strings.Join(responseHeaders, ", ")+"; Envoy can write its own")
	case "limit-headers":
		yes(&s.LimitHeaders, "write three response headers with plain numbers, as envoyproxy/ratelimit does")
	case "limit-header":
		text(&s.LimitHeader, "RateLimit-Limit", "`name` of the first of these")
	case "remaining-header":
		text(&s.RemainingHeader, "RateLimit-Remaining", "`name` of the second")
	case "reset-header":
		text(&s.ResetHeader, "RateLimit-Reset", "`name` of the third")
	case "response-metadata":
		yes(&s.ResponseMetadata, "describe the request in every answer's dynamic metadata")
	case "format":
		text(&s.Format, "json", "`format` of the answers: json or table")
	}
}

// list is a flag of words between commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			*l = append(*l, word)
		}
	}
	return nil
}
