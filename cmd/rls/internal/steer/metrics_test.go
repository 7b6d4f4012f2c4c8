package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	c := steer.NewCollector(w.Steering)
	w.busy()
	want := `
# HELP rls_adaptive_limit Limit in force of an adaptive rule, in hits per unit of the rule.
# TYPE rls_adaptive_limit gauge
rls_adaptive_limit{domain="shop",rule="checkout"} 408
# HELP rls_adaptive_delivered_rate Hits a second of an adaptive rule, of all its keys together, that its target answered well, by the last reports. None without a report for 30 s.
# TYPE rls_adaptive_delivered_rate gauge
rls_adaptive_delivered_rate{domain="shop",rule="checkout"} 400
# HELP rls_adaptive_reason Always 1; the label says why the limit of an adaptive rule is where it is.
# TYPE rls_adaptive_reason gauge
rls_adaptive_reason{domain="shop",reason="growing",rule="checkout"} 1
# HELP rls_adaptive_report_age_seconds How long ago the interval ended of which the last reports tell; before the first, how long the rule is steered.
# TYPE rls_adaptive_report_age_seconds gauge
rls_adaptive_report_age_seconds{domain="shop",rule="checkout"} 0
# HELP rls_adaptive_reporters Reporters of an adaptive rule's target that were heard in the last tick, and from three on in the one before.
# TYPE rls_adaptive_reporters gauge
rls_adaptive_reporters{domain="shop",rule="checkout"} 1
`
	names := []string{"limit", "delivered_rate", "reason", "report_age_seconds", "reporters"}
	for i := range names {
		names[i] = "rls_adaptive_" + names[i]
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c); n != 7 {
		t.Errorf("%d series after a report, want 7", n)
	}
}

// TestMetricsOfSilence: what nobody tells any more is not exported as if it were so,
// and that nobody tells is, from the start: an alarm needs a series.
func TestMetricsOfSilence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	c := steer.NewCollector(w.Steering)
	check := func(when string, age float64, passing int) {
		t.Helper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		got, err := testutil.GatherAndCount(registry, "rls_adaptive_delivered_rate", "rls_adaptive_latency_seconds")
		if err != nil || got != passing {
			t.Errorf("%s: %d series of what is told, want %d, error %v", when, got, passing, err)
		}
		if got := testutil.ToFloat64(only{c, "rls_adaptive_report_age_seconds"}); got != age {
			t.Errorf("%s: age %v, want %v", when, got, age)
		}
	}
	wait := func(seconds int) {
		for range seconds {
			w.pass(100, 0)
			w.second()
		}
	}
	check("at the start", 0, 0)
	wait(40)
	check("after 40 s without any report", 40, 0)
	w.busy()
	check("after a report", 0, 2)
	wait(30)
	check("after 30 s", 30, 2)
	wait(1)
	check("after 31 s", 31, 0)
	w.now = w.now.Add(time.Second)
	w.report("a", 0, answers(100, 100, 0, 20*time.Millisecond), true)
	w.Tick(t.Context())
	check("after news", 0, 2)
}

// TestAlarm: the alarm of docs/adaptive.md finds, from the start, for each rule the age
// of its reports and the decisions to admit.
func TestAlarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	w.metrics.Registry.MustRegister(steer.NewCollector(w.Steering))
	families, err := w.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["domain"] == "shop" && labels["rule"] == "checkout" && (labels["algorithm"] == "adaptive" && labels["verdict"] == "ok" || len(labels) == 2) {
				got[f.GetName()]++
			}
		}
	}
	for _, name := range []string{"rls_adaptive_report_age_seconds", "rls_decisions_total"} {
		if got[name] != 1 {
			t.Errorf("%d series of %s, want 1", got[name], name)
		}
	}
}

// only is what a collector has of one name.
type only struct {
	prometheus.Collector

	name string
}

func (o only) Collect(to chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric, 100) // more than there are
	o.Collector.Collect(all)
	close(all)
	for m := range all {
		if strings.Contains(m.Desc().String(), `"`+o.name+`"`) {
			to <- m
		}
	}
}

// TestDeliveredOfManyKeys: the rate of a rule is that of all its keys.
func TestDeliveredOfManyKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.ReplaceAll(oneRule, "    value: /checkout\n", ""), nil, "")
	for range 3 {
		w.pass(4000, 10)
		w.now = w.now.Add(time.Second)
		w.report("a", 0, answers(4000, 3000, 0, 20*time.Millisecond), true)
		w.Tick(t.Context())
	}
	if got := testutil.ToFloat64(only{steer.NewCollector(w.Steering), "rls_adaptive_delivered_rate"}); got != 3000 {
		t.Errorf("%v a second delivered, want 3000", got)
	}
}
