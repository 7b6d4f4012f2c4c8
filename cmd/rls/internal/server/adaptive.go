package server

import (
	"context"
	"crypto/rand"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// adapt makes what adaptive rules need: a book of reports, and what steers by it.
func (s *Server) adapt() {
	s.book = feedback.NewBook(s.now)
	o := steer.Options{Book: s.book, Replica: rand.Text(), Log: s.log, Now: s.now}
	if s.store.Redis != nil {
		o.Board = s.store.Redis
	}
	s.steering = steer.New(o)
	s.loader.Prepare = s.steering.Prepare
	s.feedback = feedback.New(feedback.Config{Book: s.book, Allow: s.allow, Limits: s.limits, Log: s.log})
	s.metrics.Registry.MustRegister(steer.NewCollector(s.steering), newFeedbackMetrics(s.book))
}

func (s *Server) limits(context.Context) (*feedbackv1.GetLimitsResponse, error) {
	return &feedbackv1.GetLimitsResponse{Limits: s.steering.Limits()}, nil
}

// feedbackMetrics reads the counts of a book when they are scraped.
type feedbackMetrics struct {
	book                      *feedback.Book
	reports, entries, skipped *prometheus.Desc
}

func newFeedbackMetrics(b *feedback.Book) feedbackMetrics {
	return feedbackMetrics{
		book: b,
		reports: prometheus.NewDesc("rls_feedback_reports_total",
			"Reports of agents, by what became of them, and calls and streams of those that may not report. The log names unknown targets.", []string{"outcome"}, nil),
		entries: prometheus.NewDesc("rls_feedback_access_log_entries_total", "Entries of Envoy's access log.", nil, nil),
		skipped: prometheus.NewDesc("rls_feedback_access_log_skipped_total",
			"Of these, the ones that say nothing about a target, by reason. The log names unknown targets.", []string{"reason"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m feedbackMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.reports, m.entries, m.skipped} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m feedbackMetrics) Collect(to chan<- prometheus.Metric) {
	stats := m.book.Stats()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for outcome, n := range stats.Reports {
		count(m.reports, n, feedback.Outcome(outcome).String())
	}
	count(m.entries, stats.Entries)
	for reason, n := range stats.Skipped {
		if name := feedback.Skip(reason).String(); name != "" {
			count(m.skipped, n, name)
		}
	}
}
