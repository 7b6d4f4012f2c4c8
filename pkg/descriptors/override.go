package descriptors

import (
	"errors"
	"fmt"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// OverridePath follows the domain in the path of a rule that a request brought
// along.
const OverridePath = "override"

// Override makes the rule of a request that brings its own numbers: requests per
// so many units. Algorithm, failure policy and so the identity come from the
// rule that the descriptor matches, else from the domain's defaults; the burst is
// the limit. It has no name and no modes. A number that cannot be is an error.
func (d *Domain) Override(matched *Rule, requests uint32, unit Unit, multiplier uint32) (*Rule, error) {
	if unit.Duration() == 0 {
		return nil, fmt.Errorf("limit.unit is %d, must be 1 (SECOND) to 7 (WEEK)", unit)
	}
	if multiplier == 0 {
		return nil, errors.New("limit.unit_multiplier is 0, must be at least 1")
	}
	if time.Duration(multiplier) > algorithms.MaxWindow/unit.Duration() {
		return nil, fmt.Errorf("limit.unit_multiplier is %d, a window is at most 366 days", multiplier)
	}
	r := &Rule{
		Index: -1, Domain: d.Name, Path: d.Name + "." + OverridePath, OnError: d.overrides.onError,
		AlgorithmNamed:  d.overrides.named,
		RequestsPerUnit: requests, Unit: unit, UnitMultiplier: multiplier,
	}
	p := algorithms.Params{Kind: kind(d.overrides.algorithm, &limitNode{})}
	if matched != nil {
		r.OnError, r.AlgorithmNamed = matched.OnError, matched.AlgorithmNamed
		if !matched.Unlimited && matched.params.Kind != algorithms.Deny {
			p = algorithms.Params{Kind: matched.params.Kind, Buckets: matched.params.Buckets, FirstHit: matched.params.FirstHit}
		}
	}
	p.Limit, p.Window = int64(requests), time.Duration(multiplier)*unit.Duration()
	switch {
	case requests == 0:
		p = algorithms.Params{Kind: algorithms.Deny, Window: p.Window}
	case p.Kind == algorithms.Adaptive:
		p.Kind = algorithms.GCRA
	}
	r.params = p
	var err error
	if r.Limit, err = algorithms.New(p); err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return r, nil
}
