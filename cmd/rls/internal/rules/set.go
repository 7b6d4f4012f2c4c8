package rules

import (
	"sync/atomic"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// Options are how a set is read and bound.
type Options struct {
	// Compat counts rules that name no algorithm as envoyproxy/ratelimit does, and
	// reads files of any name.
	Compat bool
	// MergeDomains lets several files add rules to one domain.
	MergeDomains bool
}

// Set is one loaded set of rules, each bound to what the backend and the metrics
// need of it.
type Set struct {
	Tree     *descriptors.Tree
	Hash     string // of the files
	Version  int    // how many sets this process has loaded
	LoadedAt time.Time

	options   Options
	bound     []*Bound
	overrides map[string]*telemetry.Decisions // domain → counters of rules that requests brought along
	series    map[telemetry.Series]bool
}

// Bound is a rule with its backend rule and its counters.
type Bound struct {
	*descriptors.Rule
	Decisions *telemetry.Decisions
	// Flow counts what passes an adaptive rule; nil if nobody asks.
	Flow *Flow

	limit atomic.Pointer[backend.Rule]
}

// Bind makes a set of a tree. Series of rules that requests bring along have no
// algorithm, since theirs is that of the rule they replace.
func Bind(tree *descriptors.Tree, o Options, metrics *telemetry.Metrics) *Set {
	s := &Set{
		Tree: tree, options: o,
		bound: make([]*Bound, len(tree.Rules)), overrides: map[string]*telemetry.Decisions{}, series: map[telemetry.Series]bool{},
	}
	count := func(of telemetry.Series) *telemetry.Decisions {
		s.series[of] = true
		return metrics.Decisions(of)
	}
	for i, r := range tree.Rules {
		s.bound[i] = s.bind(r, count(telemetry.Series{Domain: r.Domain, Rule: r.Label(), Algorithm: algorithmOf(r)}))
	}
	for _, d := range tree.Domains() {
		s.overrides[d.Name] = count(telemetry.Series{Domain: d.Name, Rule: descriptors.OverridePath})
	}
	return s
}

func (s *Set) bind(r *descriptors.Rule, decisions *telemetry.Decisions) *Bound {
	b := &Bound{Rule: r, Decisions: decisions}
	if !r.Unlimited {
		b.limit.Store(&backend.Rule{
			Limit: r.Limit, Group: r.Group(), OnError: onError(r.OnError),
			CountRefused: s.options.Compat && !r.AlgorithmNamed && r.Limit.Kind() == algorithms.FixedWindow,
		})
	}
	return b
}

// Bound finds a rule of the set's tree.
func (s *Set) Bound(r *descriptors.Rule) *Bound { return s.bound[r.Index] }

// Override binds a rule that a request brought along.
func (s *Set) Override(r *descriptors.Rule) *Bound { return s.bind(r, s.overrides[r.Domain]) }

// Limit is the rule's present form for the backend; nil if it is unlimited.
func (b *Bound) Limit() *backend.Rule { return b.limit.Load() }

// SetLimit moves an adaptive rule to another limit, clamped to its bounds.
func (b *Bound) SetLimit(limit int64) {
	now := *b.limit.Load()
	now.Limit = now.Limit.WithLimit(limit)
	b.limit.Store(&now)
}

// Adaptive are the set's adaptive rules, in the files' order.
func (s *Set) Adaptive() []*Bound {
	var found []*Bound
	for _, b := range s.bound {
		if b.Adaptive != nil {
			found = append(found, b)
		}
	}
	return found
}

// Named finds the rules of a label, in any domain or in one.
func (s *Set) Named(label, domain string) []*Bound {
	var found []*Bound
	for _, b := range s.bound {
		if b.Label() == label && (domain == "" || b.Domain == domain) {
			found = append(found, b)
		}
	}
	return found
}

func onError(p descriptors.OnError) backend.OnError {
	switch p {
	case descriptors.OnErrorAllow:
		return backend.OnErrorAllow
	case descriptors.OnErrorDeny:
		return backend.OnErrorDeny
	case descriptors.OnErrorLocal:
		return backend.OnErrorLocal
	default:
		return backend.OnErrorFail
	}
}

// algorithmOf is a rule's algorithm as a metric's label.
func algorithmOf(r *descriptors.Rule) string {
	if r.Unlimited {
		return "unlimited"
	}
	switch r.Limit.Kind() {
	case algorithms.FixedWindow:
		return "fixed_window"
	case algorithms.SlidingCounter, algorithms.SlidingLog:
		return "sliding_window"
	case algorithms.TokenBucket:
		return "token_bucket"
	case algorithms.LeakyMeter, algorithms.LeakyQueue:
		return "leaky_bucket"
	case algorithms.GCRA:
		return "gcra"
	case algorithms.Adaptive:
		return "adaptive"
	default:
		return "deny"
	}
}
