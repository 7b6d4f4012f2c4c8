package service

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// counts are the counters of the request path, looked up once.
type counts struct {
	metrics               *telemetry.Metrics
	ok, over              prometheus.Counter
	noRule, unknownDomain prometheus.Counter
}

func newCounts(m *telemetry.Metrics) counts {
	return counts{
		metrics: m,
		ok:      m.Requests(codes.OK.String(), "ok"), over: m.Requests(codes.OK.String(), "over_limit"),
		noRule: m.Unmatched("no_rule"), unknownDomain: m.Unmatched("unknown_domain"),
	}
}

func (c *counts) request(verdict backend.Verdict, err error) {
	switch {
	case err != nil:
		c.metrics.Requests(status.Code(err).String(), "").Inc()
	case verdict == backend.OverLimit:
		c.over.Inc()
	default:
		c.ok.Inc()
	}
}

// decisions counts every descriptor of an evaluation once.
func (c *counts) decisions(e *Evaluation) {
	for i := range e.Results {
		r := &e.Results[i]
		if r.Rule != nil && r.Rule.Flow != nil && r.Answer != nil {
			e.flow(i)
		}
		switch {
		case !e.Known:
			c.unknownDomain.Inc()
		case r.Replaced:
		case r.Rule == nil:
			c.noRule.Inc()
		case r.Answer == nil:
			r.Rule.Decisions.OK.Inc()
		case r.Answer.Err != nil:
			r.Rule.Decisions.Failed.Inc()
			c.metrics.Degraded(r.Rule.Domain, r.Rule.Label(), policy(r.Limit.OnError)).Inc()
		case r.Answer.Allowed:
			r.Rule.Decisions.OK.Inc()
		case r.Mode&backend.Shadow != 0:
			r.Rule.Decisions.Shadowed.Inc()
		default:
			r.Rule.Decisions.OverLimit.Inc()
		}
	}
}

// flow counts the i-th result, which is an adaptive rule's. What goes on to the
// target has loaded it, whether the rule liked that or not. What is refused for
// another reason than the limit, since the store did not decide or since it is more
// than ever passes, is no sign that the limit holds anything back.
func (e *Evaluation) flow(i int) {
	r := &e.Results[i]
	switch hits := max(r.Hits, 0); {
	case e.Verdict == backend.OK && e.counted(i):
		r.Rule.Flow.AdmitMore(hits)
	case e.Verdict == backend.OK:
		r.Rule.Flow.Admit(hits)
	case r.Over() && r.Answer.Err == nil && r.Answer.RetryAfter != algorithms.Never:
		r.Rule.Flow.Refuse(hits)
	}
}

// counted says whether the request has met the target of a result before, by another
// of its rules or by the same one: it goes there once.
func (e *Evaluation) counted(i int) bool {
	return slices.ContainsFunc(e.Results[:i], func(r Result) bool {
		return r.Answer != nil && r.Rule.Flow != nil && r.Rule.Adaptive.Target == e.Results[i].Rule.Adaptive.Target
	})
}

// policy is what decides in the store's place, as a rule file says it.
func policy(p backend.OnError) string {
	switch p {
	case backend.OnErrorAllow:
		return "allow"
	case backend.OnErrorDeny:
		return "deny"
	case backend.OnErrorLocal:
		return "local"
	default:
		return "error"
	}
}
