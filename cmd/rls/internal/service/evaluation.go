// Package service answers Envoy: a request becomes asks, the backend decides
// them, and its decisions become Envoy's answer.
package service

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// RequestError is what is wrong with a request, for whoever sent it.
type RequestError string

func (b RequestError) Error() string { return string(b) }

// Options are what an operator sets for all rules at once.
type Options struct {
	Shadow bool // no request is refused; statuses still say what each rule thought
	Quota  bool // a request is refused only if all its rules are over
	Legacy bool // the store shares the counters of envoyproxy/ratelimit
}

// Evaluation is one request's way through the rules. It can be used again.
type Evaluation struct {
	Verdict backend.Verdict
	Results []Result // one per descriptor, in their order
	// Known says whether the request's domain has rules.
	Known bool

	request backend.Request
	answers []backend.Answer
	keys    []byte
}

// Result is what became of one descriptor.
type Result struct {
	Rule *rules.Bound // nil: no rule matched, or another rule of the request replaces it
	// Replaced says that another rule of the request took the rule's place.
	Replaced bool
	// Answer is the backend's; nil if there was nothing to decide, since there is
	// no rule or the rule is unlimited.
	Answer *backend.Answer
	// Limit is the form of the rule that decided; nil where Answer is.
	Limit *backend.Rule
	// Mode is how the rule counts, the settings for all rules included.
	Mode backend.Mode
	// Hits are those that the rule was asked for.
	Hits int64
}

// Run evaluates a request. Its only error is a RequestError.
func (e *Evaluation) Run(ctx context.Context, o Options, set *rules.Set, store backend.Backend, q *codec.Request) error {
	switch {
	case q.Err != nil:
		return RequestError("the message is malformed: " + q.Err.Error())
	case q.Domain == "":
		return RequestError("domain is empty, must be the domain of a rule file")
	case len(q.Descriptors) == 0:
		return RequestError("descriptors is empty, must hold at least one descriptor")
	}
	e.reset(len(q.Descriptors))
	if domain := set.Tree.Domain(q.Domain); domain != nil {
		e.Known = true
		if err := e.find(set, domain, q); err != nil {
			return err
		}
		if err := e.ask(o, domain, q); err != nil {
			return err
		}
	}
	if len(e.request.Asks) == 0 {
		e.Verdict = backend.OK
		return nil
	}
	e.answers = resized(e.answers, len(e.request.Asks))
	e.Verdict = store.Decide(ctx, &e.request, e.answers)
	next := 0
	for i := range e.Results {
		if e.Results[i].Limit != nil {
			e.Results[i].Answer = &e.answers[next]
			next++
		}
	}
	return nil
}

// find gives every descriptor its rule, and then takes those away that another
// rule of the request replaces. An unlimited rule replaces but is not replaced.
func (e *Evaluation) find(set *rules.Set, domain *descriptors.Domain, q *codec.Request) error {
	replacing := false
	for i := range q.Descriptors {
		rule, err := ruleOf(set, domain, &q.Descriptors[i])
		if err != nil {
			return RequestError(fmt.Sprintf("descriptors[%d]: %s", i, err))
		}
		e.Results[i].Rule = rule
		replacing = replacing || rule != nil && len(rule.Replaces) > 0
	}
	if !replacing {
		return nil
	}
	replaced := map[string]bool{}
	for i := range e.Results {
		if rule := e.Results[i].Rule; rule != nil {
			for _, name := range rule.Replaces {
				replaced[name] = true
			}
		}
	}
	for i := range e.Results {
		if r := &e.Results[i]; r.Rule != nil && !r.Rule.Unlimited && replaced[r.Rule.Name] {
			r.Rule, r.Replaced = nil, true
		}
	}
	return nil
}

// ask makes the backend's request of the rules found.
func (e *Evaluation) ask(o Options, domain *descriptors.Domain, q *codec.Request) error {
	e.request.Charge = backend.AllOrNothing
	if domain.Charge == descriptors.Independent {
		e.request.Charge = backend.Independent
	}
	for i := range q.Descriptors {
		d, r := &q.Descriptors[i], &e.Results[i]
		if r.Rule == nil {
			e.request.QuotaPass = e.request.QuotaPass || o.Quota
			continue
		}
		r.Limit, r.Mode = r.Rule.Limit(), modeOf(o, r.Rule)
		if r.Limit == nil {
			continue
		}
		if r.Limit.CountRefused {
			e.request.Charge = backend.CountRefused
		}
		hits := hitsOf(q, d)
		if hits < 0 && !domain.AllowRefunds {
			return RequestError(fmt.Sprintf("descriptors[%d]: is_negative_hits is set, domain %q does not allow refunds", i, domain.Name))
		}
		r.Hits = hits
		start := len(e.keys)
		e.keys = r.Rule.AppendKey(e.keys, r.Limit.Limit, d.Entries)
		ask := backend.Ask{Key: e.keys[start:len(e.keys):len(e.keys)], Rule: r.Limit, Hits: hits, Mode: r.Mode}
		if o.Legacy && legacy(r.Limit) {
			start = len(e.keys)
			e.keys = appendLegacyKey(e.keys, r.Rule, d.Entries)
			ask.Legacy = e.keys[start:len(e.keys):len(e.keys)]
		}
		e.request.Asks = append(e.request.Asks, ask)
	}
	return nil
}

// legacy says whether a rule's windows are those of envoyproxy/ratelimit, which
// begin at whole seconds.
func legacy(limit *backend.Rule) bool {
	return limit.CountRefused && limit.Limit.Window()%time.Second == 0
}

func appendLegacyKey(dst []byte, rule *rules.Bound, entries []descriptors.Entry) []byte {
	dst = compat.AppendPart(dst, rule.Domain)
	for i := range entries {
		e := rule.Identity(i, entries[i])
		dst = compat.AppendPart(compat.AppendPart(dst, e.Key), e.Value)
	}
	return dst
}

// ruleOf is the rule that decides a descriptor: the one that the request brings
// along, else the one that its entries lead to; nil if there is neither.
func ruleOf(set *rules.Set, domain *descriptors.Domain, d *codec.Descriptor) (*rules.Bound, error) {
	matched := domain.Match(d.Entries)
	if d.HasLimit {
		multiplier := uint32(1)
		if d.Limit.HasUnitMultiplier {
			multiplier = d.Limit.UnitMultiplier
		}
		if d.Limit.Unit < 0 || d.Limit.Unit > math.MaxUint8 {
			return nil, fmt.Errorf("limit.unit is %d, must be 1 (SECOND) to 7 (WEEK)", d.Limit.Unit)
		}
		own, err := domain.Override(matched, d.Limit.RequestsPerUnit, descriptors.Unit(d.Limit.Unit), multiplier)
		if err != nil {
			return nil, err
		}
		return set.Override(own), nil
	}
	if matched == nil {
		return nil, nil //nolint:nilnil // no rule is no error
	}
	return set.Bound(matched), nil
}

// hitsOf is what a descriptor asks for: its own addend if it has one, which may
// be 0, a look; else the request's, in which 0 and absent are the same and mean 1.
func hitsOf(q *codec.Request, d *codec.Descriptor) int64 {
	hits := int64(max(q.HitsAddend, 1))
	if d.HasHitsAddend {
		hits = int64(min(d.HitsAddend, math.MaxInt64))
	}
	if d.Negative {
		return -hits
	}
	return hits
}

func modeOf(o Options, r *rules.Bound) backend.Mode {
	var m backend.Mode
	if r.Shadow || o.Shadow {
		m |= backend.Shadow
	}
	if r.Quota || o.Quota {
		m |= backend.Quota
	}
	return m
}

// kept bounds what an idle Evaluation holds of a large request.
const kept = 256

func (e *Evaluation) reset(results int) {
	clear(e.answers)
	clear(e.request.Asks)
	keys, asks := e.keys[:0], e.request.Asks[:0]
	if cap(asks) > kept {
		keys, asks = nil, nil
	}
	*e = Evaluation{Results: resized(e.Results, results), answers: e.answers, keys: keys, request: backend.Request{Asks: asks}}
}

// resized is a zeroed slice of n elements, in s' memory if that is of a usual
// size and suffices.
func resized[T any](s []T, n int) []T {
	if cap(s) < n || cap(s) > kept {
		return make([]T, n)
	}
	clear(s[:cap(s)])
	return s[:n]
}
