package settings

import (
	"errors"
	"flag"
	"strings"
	"time"
)

const drain = 5 * time.Second

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
	"backend":             {"BACKEND_TYPE"},

	"grpc-tls":             {"GRPC_SERVER_USE_TLS"},
	"grpc-tls-cert":        {"GRPC_SERVER_TLS_CERT"},
	"grpc-tls-key":         {"GRPC_SERVER_TLS_KEY"},
	"grpc-tls-client-ca":   {"GRPC_CLIENT_TLS_CACERT"},
	"grpc-tls-client-name": {"GRPC_CLIENT_TLS_SAN"},

	"redis-url":                            {"REDIS_URL"},
	"redis-type":                           {"REDIS_TYPE"},
	"redis-socket-type":                    {"REDIS_SOCKET_TYPE"},
	"redis-auth":                           {"REDIS_AUTH"},
	"redis-sentinel-auth":                  {"REDIS_SENTINEL_AUTH"},
	"redis-tls":                            {"REDIS_TLS"},
	"redis-tls-ca":                         {"REDIS_TLS_CACERT"},
	"redis-tls-cert":                       {"REDIS_TLS_CLIENT_CERT"},
	"redis-tls-key":                        {"REDIS_TLS_CLIENT_KEY"},
	"redis-tls-skip-hostname-verification": {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"},
	"redis-pool-size":                      {"REDIS_POOL_SIZE"},
	"redis-persecond":                      {"REDIS_PERSECOND"},
	"redis-persecond-url":                  {"REDIS_PERSECOND_URL"},
	"redis-persecond-type":                 {"REDIS_PERSECOND_TYPE"},
	"redis-persecond-socket-type":          {"REDIS_PERSECOND_SOCKET_TYPE"},
	"redis-persecond-auth":                 {"REDIS_PERSECOND_AUTH"},
	"redis-persecond-sentinel-auth":        {"REDIS_PERSECOND_SENTINEL_AUTH"},
	"redis-persecond-tls":                  {"REDIS_PERSECOND_TLS"},
	"redis-persecond-pool-size":            {"REDIS_PERSECOND_POOL_SIZE"},
	"compat-key-prefix":                    {"CACHE_KEY_PREFIX"},
	"compat-key-jitter":                    {"EXPIRATION_JITTER_MAX_SECONDS"},
	"compat-cache-bytes":                   {"LOCAL_CACHE_SIZE_IN_BYTES"},
	"compat-stop-increment":                {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT"},
}

// define adds one flag to a set.
func (s *Settings) define(set *flag.FlagSet, name string) {
	if f := (flags{set, name}); !s.rules(f) && !s.process(f) && !s.callers(f) && !s.redis(f) {
		s.answers(f)
	}
}

// flags adds the flag of a name to a set.
type flags struct {
	set  *flag.FlagSet
	name string
}

func (f flags) text(to *string, standard, help string) { f.set.StringVar(to, f.name, standard, help) }
func (f flags) yes(to *bool, help string)              { f.set.BoolVar(to, f.name, false, help) }
func (f flags) span(to *time.Duration, standard time.Duration, help string) {
	*to = standard
	f.set.Var((*span)(to), f.name, help)
}

// rules are the settings of rules and their states; false if it has none of the name.
func (s *Settings) rules(f flags) bool {
	switch f.name {
	case "config":
		f.text(&s.Config, "config/examples", "`directory` with the rule files (*.yaml, *.yml), or one file")
	case "compat":
		f.text(&s.Compat, "", "`program` whose counting rules without an algorithm follow: envoyproxy, or nothing")
	case "merge-domain-config":
		f.yes(&s.MergeDomains, "let several files add rules to one domain")
	case "shadow-mode":
		f.yes(&s.Shadow, "refuse no request; statuses and metrics still say what would be refused")
	case "quota-mode":
		f.yes(&s.Quota, "refuse a request only if all its rules are over")
	case "backend":
		f.text(&s.Backend, "local", "where states are `kept`: local, in this process, or redis, shared by all replicas")
	case "local-max-keys":
		f.set.IntVar(&s.LocalMaxKeys, f.name, 2_000_000, "most `keys` that the local backend keeps, about 100 bytes each")
	default:
		return false
	}
	return true
}

// process are the settings of ports, logs and the end.
func (s *Settings) process(f flags) bool {
	switch f.name {
	case "grpc-addr":
		f.text(&s.GRPCAddr, ":8081", "`address` of the gRPC services")
	case "http-addr":
		f.text(&s.HTTPAddr, ":8080", "`address` of /json, /healthcheck and /metrics")
	case "admin-addr":
		f.text(&s.AdminAddr, "127.0.0.1:6070", "`address` of the operator's pages, /config and /rlconfig; :6070 with --compat, empty = off")
	case "pprof":
		f.yes(&s.PProf, "add /debug/pprof to the operator's pages")
	case "drain-delay":
		f.span(&s.DrainDelay, drain, "`time` to go on serving after SIGTERM, while health says NOT_SERVING")
	case "drain-timeout":
		f.span(&s.DrainTimeout, drain, "`time` for requests under way after that")
	case "log-level":
		f.text(&s.LogLevel, "info", "least `level` logged: debug, info, warn or error")
	case "log-values":
		f.yes(&s.LogValues, "write descriptors' values to the debug log as they are, not as hashes; they may be secrets")
	case "log-format":
		f.text(&s.LogFormat, "console", "`format` of log lines: console or json")
	default:
		return false
	}
	return true
}

// answers are the settings of what is written out.
func (s *Settings) answers(f flags) {
	switch f.name {
	case "response-headers":
		f.set.Var((*list)(&s.ResponseHeaders), f.name,
			"response headers to write, a comma `list` of "+strings.Join(responseHeaders, ", ")+"; Envoy can write its own")
	case "limit-headers":
		f.yes(&s.LimitHeaders, "write three response headers with plain numbers, as envoyproxy/ratelimit does")
	case "limit-header":
		f.text(&s.LimitHeader, "RateLimit-Limit", "`name` of the first of these")
	case "remaining-header":
		f.text(&s.RemainingHeader, "RateLimit-Remaining", "`name` of the second")
	case "reset-header":
		f.text(&s.ResetHeader, "RateLimit-Reset", "`name` of the third")
	case "response-metadata":
		f.yes(&s.ResponseMetadata, "describe the request in every answer's dynamic metadata")
	case "format":
		f.text(&s.Format, "json", "`format` of the answers: json or table")
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

// span is a flag of a duration.
type span time.Duration

func (s *span) String() string { return time.Duration(*s).String() }

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("must be a duration with its unit, such as 15ms or 5s")
	}
	*s = span(d)
	return nil
}
