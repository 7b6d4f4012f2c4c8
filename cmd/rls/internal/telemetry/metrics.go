// Package telemetry is what rls tells of itself: metrics and logs. Labels come
// from rule files, never from a request's values.
package telemetry

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are all metrics of one process.
type Metrics struct {
	Registry *prometheus.Registry
	// Duration is how long ShouldRateLimit took inside this process, in microseconds.
	Duration prometheus.Observer
	// StateResets is how often this process began with no states, so that every
	// limit was unused.
	StateResets prometheus.Counter

	decisions *prometheus.CounterVec
	degraded  *prometheus.CounterVec
	unmatched *prometheus.CounterVec
	requests  *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	loaded    prometheus.Gauge
	rules     prometheus.Gauge
	config    *prometheus.GaugeVec
}

// Decisions counts what became of the descriptors of one rule. An over-limit
// descriptor counts in Shadowed where its rule only watches.
type Decisions struct{ OK, OverLimit, Shadowed, Failed prometheus.Counter }

// New makes the metrics of this process.
func New(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "rls", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "rls", Name: name, Help: help})
	}
	duration := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "rls", Name: "request_duration_microseconds",
		Help:    "Time that ShouldRateLimit took inside rls, in microseconds. Envoy gives up after 20000 by default.",
		Buckets: []float64{10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000, 50000},
	})
	resets := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "rls", Name: "state_resets_total", Help: "Starts with no states, after which every limit is unused.",
	})
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		Duration: duration, StateResets: resets,
		decisions: counter("decisions_total", "Descriptors decided, by rule, algorithm and verdict.", "domain", "rule", "algorithm", "verdict"),
		degraded:  counter("degraded_total", "Descriptors that the store did not decide, by rule and by what did: on_error allow, deny, local, or error, which fails.", "domain", "rule", "source"),
		unmatched: counter("unmatched_total", "Descriptors that no rule matched, by reason.", "reason"),
		requests:  counter("requests_total", "Requests answered, by gRPC code and, where it is OK, overall verdict.", "code", "verdict"),
		reloads:   counter("config_reloads_total", "Loads of the rule files, by result.", "result"),
		loaded:    gauge("config_loaded_timestamp_seconds", "When the active rules were loaded, in seconds since the epoch; 0 = never."),
		rules:     gauge("config_rules", "Rules in the active configuration."),
	}
	m.config = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rls", Name: "config_info", Help: "Always 1; the labels say which rules are in force."},
		[]string{"source", "hash"})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rls", Name: "build_info", Help: "Always 1; the label says which version runs."},
		[]string{"version"})
	build.WithLabelValues(version).Set(1)
	m.Registry.MustRegister(duration, resets, m.decisions, m.degraded, m.unmatched, m.requests, m.reloads, m.loaded, m.rules, m.config, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{"ok", "error"} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// Series names the counters of one rule.
type Series struct{ Domain, Rule, Algorithm string }

// Decisions are the counters of one rule.
func (m *Metrics) Decisions(s Series) *Decisions {
	of := func(verdict string) prometheus.Counter {
		return m.decisions.WithLabelValues(text(s.Domain), text(s.Rule), s.Algorithm, verdict)
	}
	return &Decisions{OK: of("ok"), OverLimit: of("over_limit"), Shadowed: of("shadowed"), Failed: of("failed")}
}

// Forget drops the counters of a rule that is no longer there.
func (m *Metrics) Forget(s Series) {
	m.decisions.DeletePartialMatch(prometheus.Labels{"domain": text(s.Domain), "rule": text(s.Rule), "algorithm": s.Algorithm})
	m.degraded.DeletePartialMatch(prometheus.Labels{"domain": text(s.Domain), "rule": text(s.Rule)})
}

// Degraded is the counter of descriptors of a rule that something else than the
// store decided.
func (m *Metrics) Degraded(domain, rule, source string) prometheus.Counter {
	return m.degraded.WithLabelValues(text(domain), text(rule), source)
}

// Unmatched is the counter of descriptors without a rule, for unknown_domain or
// no_rule.
func (m *Metrics) Unmatched(reason string) prometheus.Counter {
	return m.unmatched.WithLabelValues(reason)
}

// Requests is the counter of requests that got a gRPC code and, with OK, a
// verdict.
func (m *Metrics) Requests(code, verdict string) prometheus.Counter {
	return m.requests.WithLabelValues(code, verdict)
}

// Loaded records a load of rules that succeeded.
func (m *Metrics) Loaded(source, hash string, rules int, at time.Time) {
	m.reloads.WithLabelValues("ok").Inc()
	m.rules.Set(float64(rules))
	m.loaded.Set(float64(at.Unix()))
	m.config.Reset()
	m.config.WithLabelValues(text(source), hash).Set(1)
}

// Refused records a load of rules that failed.
func (m *Metrics) Refused() { m.reloads.WithLabelValues("error").Inc() }

// Gauge registers a gauge that is read when it is scraped.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rls", Name: name, Help: help}, read))
}

// Counter registers a counter that is read when it is scraped.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "rls", Name: name, Help: help}, read))
}

// text is a label's value: rule files and paths may hold any bytes, a label may not.
func text(label string) string { return strings.ToValidUTF8(label, "\uFFFD") }
