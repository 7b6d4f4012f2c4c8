package service

import (
	"math"
	"strconv"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// The keys of the dynamic metadata that every answer with a rule carries. Envoy
// puts them under envoy.filters.http.ratelimit.
const (
	// metadataRule is the rule that refused, else the one with the least remaining.
	metadataRule = "rls.rule"
	// metadataDelay is how long the request has to wait before it goes on: whole
	// milliseconds as digits in a string, because Envoy would print a number of
	// 100000 as 1e+05, which its fault filter ignores. Absent when there is no wait.
	metadataDelay = "rls.delay_ms"
)

// Answer is what Envoy is told of an evaluation that did not fail.
func (e *Evaluation) Answer() *codec.Response {
	a := &codec.Response{Code: codec.OK, Statuses: make([]codec.Status, len(e.Results))}
	if e.Verdict == backend.OverLimit {
		a.Code = codec.OverLimit
	}
	for i := range e.Results {
		a.Statuses[i] = e.Results[i].status()
	}
	if name := e.deciding(); name != "" {
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataRule, Value: name})
	}
	if delay := e.Delay(); delay > 0 {
		text := strconv.FormatInt(int64((delay+time.Millisecond-1)/time.Millisecond), 10)
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataDelay, Value: text})
	}
	return a
}

// Delay is how long an admitted request has to wait: the longest wait that an
// enforced rule names.
func (e *Evaluation) Delay() time.Duration {
	var longest time.Duration
	if e.Verdict != backend.OK {
		return 0
	}
	for i := range e.Results {
		if r := &e.Results[i]; r.Answer != nil && r.Answer.Allowed && !r.Rule.Shadow {
			longest = max(longest, r.Answer.Delay)
		}
	}
	return longest
}

// deciding is the label of the rule that refused the request, else of the one
// with the least remaining; "" if nothing was decided.
func (e *Evaluation) deciding() string {
	name, least := "", int64(math.MaxInt64)
	for i := range e.Results {
		r := &e.Results[i]
		if r.Answer == nil {
			continue
		}
		if e.Verdict == backend.OverLimit && r.Over() {
			return r.Rule.Label()
		}
		if r.Answer.Remaining < least {
			name, least = r.Rule.Label(), r.Answer.Remaining
		}
	}
	return name
}

// Over says whether the rule refuses the descriptor; one in shadow never does.
func (r *Result) Over() bool {
	return r.Answer != nil && !r.Answer.Allowed && !r.Rule.Shadow
}

func (r *Result) status() codec.Status {
	s := codec.Status{Code: codec.OK}
	switch {
	case r.Rule == nil:
		return s
	case r.Answer == nil:
		s.Remaining = math.MaxUint32
		return s
	}
	if r.Over() {
		s.Code = codec.OverLimit
	}
	s.HasLimit = true
	s.Limit = codec.Limit{
		Name: r.Rule.Name, RequestsPerUnit: r.RequestsPerUnit(), Unit: int32(r.Rule.Unit), UnitMultiplier: r.Rule.UnitMultiplier,
	}
	if s.Limit.UnitMultiplier == 1 {
		s.Limit.UnitMultiplier = 0 // left out, which means the same and every Envoy understands
	}
	s.Remaining = uint32(min(r.Answer.Remaining, math.MaxUint32)) //nolint:gosec // cut to what fits
	s.HasReset, s.Reset = true, r.reset()
	return s
}

// RequestsPerUnit is the limit in force, which for an adaptive rule is not the
// one in its file.
func (r *Result) RequestsPerUnit() uint32 {
	return uint32(min(r.Limit.Limit.Limit(), math.MaxUint32)) //nolint:gosec // a limit has at most 32 bits
}

// reset is when to come back, in whole seconds, because Envoy cuts off the rest:
// when refused, until the same request is admitted, or the window where no wait
// helps; else until the limit is whole again, which for a window on the epoch's
// grid is always the window's end.
func (r *Result) reset() time.Duration {
	wait := r.Answer.ResetAfter
	limit := r.Limit.Limit
	switch {
	case limit.Kind() == algorithms.Deny, !r.Answer.Allowed && r.Answer.RetryAfter == algorithms.Never:
		wait = limit.Window()
	case !r.Answer.Allowed:
		wait = r.Answer.RetryAfter
	case r.Rule.OnGrid():
		wait = limit.Window() - time.Duration(r.Answer.Now%int64(limit.Window()))
	}
	return (wait + time.Second - 1) / time.Second * time.Second
}
