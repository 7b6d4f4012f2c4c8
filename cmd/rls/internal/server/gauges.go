package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

func (s *Server) gauges() {
	s.metrics.Gauge("local_keys", "Keys that the local backend holds.", func() float64 { return float64(s.store.Local.Stats().Keys) })
	s.metrics.Gauge("local_max_keys", "Keys that the local backend may hold.", func() float64 { return float64(s.store.Local.Stats().MaxKeys) })
	s.metrics.Gauge("local_memory_bytes", "Memory of the local backend's states.", func() float64 { return float64(s.store.Local.Stats().MemoryBytes) })
	s.metrics.Counter("local_evictions_total", "Keys put out before their time because the local backend was full.",
		func() float64 { return float64(s.store.Local.Stats().Evictions) })
	s.metrics.Counter("local_overflow_decisions_total", "Decisions on a shared state because the local backend was full of keys at their limit.",
		func() float64 { return float64(s.store.Local.Stats().OverflowDecisions) })
	if s.store.Redis != nil {
		s.redisGauges()
	}
}

func (s *Server) redisGauges() {
	s.metrics.Registry.MustRegister(redisMetrics{
		stats:  s.store.Redis.Stats,
		calls:  prometheus.NewDesc("rls_redis_calls_total", "Calls of the script, by node.", []string{"node"}, nil),
		asks:   prometheus.NewDesc("rls_redis_asks_total", "Asks that went with these calls, by node.", []string{"node"}, nil),
		errors: prometheus.NewDesc("rls_redis_errors_total", "Asks that Redis did not decide, by kind.", []string{"kind"}, nil),
		open:   prometheus.NewDesc("rls_redis_breaker_open", "1 while a node is not asked since it does not answer.", []string{"node"}, nil),
	})
	if s.store.Refusals != nil {
		s.metrics.Counter("over_limit_cache_answers_total", "Requests refused without asking Redis, which had just refused the same.",
			func() float64 { return float64(s.store.Refusals.Answers()) })
	}
}

// redisMetrics reads the counts of the backend when they are scraped.
type redisMetrics struct {
	stats                     func() redis.Stats
	calls, asks, errors, open *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (m redisMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.calls, m.asks, m.errors, m.open} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m redisMetrics) Collect(to chan<- prometheus.Metric) {
	stats := m.stats()
	for kind, n := range stats.Errors {
		to <- prometheus.MustNewConstMetric(m.errors, prometheus.CounterValue, float64(n), redis.Kind(kind).String())
	}
	for i := range stats.Nodes {
		n := &stats.Nodes[i]
		open := 0.0
		if n.Open {
			open = 1
		}
		to <- prometheus.MustNewConstMetric(m.calls, prometheus.CounterValue, float64(n.Trips), n.Addr)
		to <- prometheus.MustNewConstMetric(m.asks, prometheus.CounterValue, float64(n.Asks), n.Addr)
		to <- prometheus.MustNewConstMetric(m.open, prometheus.GaugeValue, open, n.Addr)
	}
}
