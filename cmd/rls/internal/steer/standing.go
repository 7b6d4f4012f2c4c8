package steer

import (
	"math"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// Standing is where one rule is, and why.
type Standing struct {
	Domain, Rule, Target string
	Limit, Least, Most   int64     // hits per unit of the rule
	Reason               string    // in words
	Moved                time.Time // zero: not since the start
	Fresh                bool      // the last report is not older than stillNews
	Delivered            float64   // hits a second of the rule, of all keys, that the target answered well, by the last report
	Latency, Baseline    float64   // s; 0: not known
	Reporters            int       // that had a vote in the last tick
	ReportAge            float64   // s; since the start, if there never was a report
}

// stillNews is the age in s up to which what was reported is told as the present.
const stillNews = 30.0

// show publishes where the rule is.
func (p *pilot) show(limit int64) {
	m := &p.memory
	least, most := p.bound.Rule.Limit.Bounds()
	age := m.ReportAge + p.since.Seconds()
	p.shown.Store(&Standing{
		Domain: p.id.domain, Rule: p.id.label, Target: p.target, Limit: limit, Least: least, Most: most,
		Reason: string(m.State.Reason), Moved: m.Moved, Fresh: m.Reported && age <= stillNews, Delivered: m.Delivered, Latency: m.State.Latency,
		Baseline: m.State.Baseline, Reporters: m.Reporters, ReportAge: age,
	})
}

// Standings are where all rules are, by domain and rule.
func (s *Steering) Standings() []Standing {
	order := *s.shown.Load()
	all := make([]Standing, len(order))
	for i, p := range order {
		all[i] = *p.shown.Load()
	}
	return all
}

// Limits are the standings as the side RPC tells them.
func (s *Steering) Limits() []*feedbackv1.Limit {
	standings := s.Standings()
	all := make([]*feedbackv1.Limit, len(standings))
	for i := range standings {
		all[i] = standings[i].told()
	}
	return all
}

func (n *Standing) told() *feedbackv1.Limit {
	l := &feedbackv1.Limit{
		Domain: n.Domain, Rule: n.Rule, Target: n.Target,
		RequestsPerUnit: uint64(n.Limit), MinLimit: uint64(n.Least), MaxLimit: uint64(n.Most), //nolint:gosec // never negative
		Reason: n.Reason, Reporters: uint32(min(n.Reporters, math.MaxUint32)), ReportAge: duration(n.ReportAge), //nolint:gosec // never negative
	}
	if !n.Moved.IsZero() {
		l.ChangedAt = timestamppb.New(n.Moved)
	}
	if n.Fresh {
		l.DeliveredPerSecond = &n.Delivered
	}
	if n.Fresh && n.Latency > 0 {
		l.Latency = duration(n.Latency)
	}
	if n.Baseline > 0 {
		l.Baseline = duration(n.Baseline)
	}
	return l
}

// duration is a time in s to the microsecond.
func duration(seconds float64) *durationpb.Duration {
	return durationpb.New(time.Duration(seconds * float64(time.Second)).Round(time.Microsecond))
}

// doubtEvery is the least time between two lines of one doubt.
const doubtEvery = time.Minute

// doubt logs that what reporters say does not fit what was let pass. A third to a
// half of it may be other traffic; beyond that a rule steers by somebody else's.
func (p *pilot) doubt(now time.Time, v view) {
	if v.began == 0 || v.requests == 0 || now.Sub(p.doubted) < doubtEvery {
		return
	}
	if share := v.began / v.requests; share < 0.5 || share > 1.5 {
		p.doubted = now
		p.log.Warn("adaptive rule: reporters say another number of requests than rls let pass; does the target get other traffic, or do some not report?",
			zap.String("domain", p.id.domain), zap.String("rule", p.id.label), zap.String("target", p.target),
			zap.Float64("reported_per_second", v.began), zap.Float64("admitted_per_second", v.requests))
	}
}
