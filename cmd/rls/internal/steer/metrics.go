package steer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

// Collector exports where the adaptive rules are.
type Collector struct {
	steering *Steering

	limit, delivered, latency, baseline, reporters, age, reason *prometheus.Desc
}

// NewCollector makes the Collector of a Steering.
func NewCollector(s *Steering) *Collector {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("rls_adaptive_"+name, help, append([]string{"domain", "rule"}, more...), nil)
	}
	return &Collector{
		steering:  s,
		limit:     desc("limit", "Limit in force of an adaptive rule, in hits per unit of the rule."),
		delivered: desc("delivered_rate", "Hits a second of an adaptive rule, of all its keys together, that its target answered well, by the last reports. None without a report for 30 s."),
		latency:   desc("latency_seconds", "Smoothed latency that an adaptive rule steers by: the median, or the quantile of its threshold. None without a report for 30 s."),
		baseline:  desc("baseline_seconds", "Median latency that an adaptive rule takes for its target's without a queue; its goal is twice that, unless a threshold is set."),
		reporters: desc("reporters", "Reporters of an adaptive rule's target that were heard in the last tick, and from three on in the one before."),
		age:       desc("report_age_seconds", "How long ago the interval ended of which the last reports tell; before the first, how long the rule is steered."),
		reason:    desc("reason", "Always 1; the label says why the limit of an adaptive rule is where it is.", "reason"),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.limit, c.delivered, c.latency, c.baseline, c.reporters, c.age, c.reason} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	standings := c.steering.Standings()
	for i := range standings {
		n := &standings[i]
		labels := []string{telemetry.Printable(n.Domain), telemetry.Printable(n.Rule)}
		gauge := func(d *prometheus.Desc, value float64, more ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append(labels, more...)...)
		}
		gauge(c.limit, float64(n.Limit))
		gauge(c.age, n.ReportAge)
		gauge(c.reporters, float64(n.Reporters))
		gauge(c.reason, 1, n.Reason)
		if n.Fresh {
			gauge(c.delivered, n.Delivered)
		}
		if n.Fresh && n.Latency > 0 {
			gauge(c.latency, n.Latency)
		}
		if n.Baseline > 0 {
			gauge(c.baseline, n.Baseline)
		}
	}
}
