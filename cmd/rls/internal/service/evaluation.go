// Package service answers Envoy: a request becomes asks, the backend decides
// them, and its decisions become Envoy's answer.
package service

import (
	"context"
	"fmt"
	"math"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// maxDescriptors bounds the work that one request can cause.
const maxDescriptors = 4096

// BadRequest is what is wrong with a request, for whoever sent it.
type BadRequest string

func (b BadRequest) Error() string { return string(b) }

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
	Rule *rules.Bound // nil: no rule matched
	// Answer is the backend's; nil if there was nothing to decide, since no rule
	// matched or the rule is unlimited.
	Answer *backend.Answer
	// Limit is the form of the rule that decided; nil where Answer is.
	Limit *backend.Rule
}

// Run evaluates a request. Its only error is a BadRequest.
func (e *Evaluation) Run(ctx context.Context, set *rules.Set, store backend.Backend, q *codec.Request) error {
	switch {
	case q.Err != nil:
		return BadRequest("the message is malformed: " + q.Err.Error())
	case q.Domain == "":
		return BadRequest("domain is empty, must be the domain of a rule file")
	case len(q.Descriptors) == 0:
		return BadRequest("descriptors is empty, must hold at least one descriptor")
	case len(q.Descriptors) > maxDescriptors:
		return BadRequest(fmt.Sprintf("the request has %d descriptors, must be at most %d", len(q.Descriptors), maxDescriptors))
	}
	e.reset(len(q.Descriptors))
	if domain := set.Tree.Domain(q.Domain); domain != nil {
		e.Known = true
		if err := e.ask(set, domain, q); err != nil {
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

// ask finds every descriptor's rule and puts its question to the backend's
// request.
func (e *Evaluation) ask(set *rules.Set, domain *descriptors.Domain, q *codec.Request) error {
	e.request.Charge = backend.AllOrNothing
	if domain.Charge == descriptors.Independent {
		e.request.Charge = backend.Independent
	}
	for i := range q.Descriptors {
		d := &q.Descriptors[i]
		rule, err := find(set, domain, d)
		if err != nil {
			return BadRequest(fmt.Sprintf("descriptors[%d]: %s", i, err))
		}
		if rule == nil {
			continue
		}
		r := &e.Results[i]
		r.Rule, r.Limit = rule, rule.Limit()
		if r.Limit == nil {
			continue
		}
		hits := hitsOf(q, d)
		if hits < 0 && !domain.AllowRefunds {
			return BadRequest(fmt.Sprintf("descriptors[%d]: is_negative_hits is set, domain %q does not allow refunds", i, domain.Name))
		}
		start := len(e.keys)
		e.keys = rule.AppendKey(e.keys, r.Limit.Limit, d.Entries)
		e.request.Asks = append(e.request.Asks, backend.Ask{
			Key: e.keys[start:len(e.keys):len(e.keys)], Rule: r.Limit, Hits: hits, Mode: modeOf(rule),
		})
	}
	return nil
}

// find is the rule that decides a descriptor: the one that the request brings
// along, else the one that its entries lead to; nil if there is neither.
func find(set *rules.Set, domain *descriptors.Domain, d *codec.Descriptor) (*rules.Bound, error) {
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
		hits = int64(min(d.HitsAddend, math.MaxInt64)) //nolint:gosec // cut to what fits
	}
	if d.Negative {
		return -hits
	}
	return hits
}

func modeOf(r *rules.Bound) backend.Mode {
	var m backend.Mode
	if r.Shadow {
		m |= backend.Shadow
	}
	if r.Quota {
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
