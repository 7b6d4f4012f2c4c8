package service

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// The keys of the dynamic metadata that answers carry. Envoy puts them under
// envoy.filters.http.ratelimit.
const (
	// metadataRule is the rule that decided: see Deciding.
	metadataRule = "rls.rule"
	// metadataTargets are the targets of the adaptive rules that admitted, a comma
	// between two. Envoy's access log brings them back with what became of the
	// request.
	metadataTargets = "rls.targets"
	// metadataDelay is how long the request has to wait before it goes on: whole
	// milliseconds as digits in a string, because Envoy would print a number of
	// 100000 as 1e+05, which its fault filter ignores. Absent when there is no wait.
	metadataDelay = "rls.delay_ms"
	// metadataDegraded says that a rule's on_error decided in place of the store.
	metadataDegraded = "rls.degraded"
)

// Answer is what Envoy is told of an evaluation that did not fail.
func (e *Evaluation) Answer() *codec.Response {
	a := &codec.Response{Code: codec.OK, Statuses: make([]codec.Status, len(e.Results))}
	if e.Verdict == backend.OverLimit {
		a.Code = codec.OverLimit
	}
	plain := true // whether no rule says more than envoyproxy/ratelimit would
	degraded := false
	for i := range e.Results {
		r := &e.Results[i]
		a.Statuses[i] = r.status()
		plain = plain && (r.Limit == nil || r.Limit.CountRefused)
		degraded = degraded || r.Answer != nil && r.Answer.Source == backend.FromFallback
	}
	if plain {
		return a
	}
	if r := e.Deciding(); r != nil {
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataRule, Value: r.Rule.Label()})
	}
	if targets := e.targets(); targets != "" {
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataTargets, Value: targets})
	}
	if degraded {
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataDegraded, Value: "fallback"})
	}
	if delay := e.Delay(); delay > 0 {
		text := strconv.FormatInt(int64((delay+time.Millisecond-1)/time.Millisecond), 10)
		a.DynamicMetadata = append(a.DynamicMetadata, codec.StringField{Key: metadataDelay, Value: text})
	}
	return a
}

// targets are those of an admitted request, each once.
func (e *Evaluation) targets() string {
	if e.Verdict != backend.OK {
		return ""
	}
	var all []string
	for i := range e.Results {
		if r := &e.Results[i]; r.Answer != nil && r.Rule.Adaptive != nil && !slices.Contains(all, r.Rule.Adaptive.Target) {
			all = append(all, r.Rule.Adaptive.Target)
		}
	}
	return strings.Join(all, ",")
}

// Delay is how long an admitted request has to wait: the longest wait that an
// enforced rule names.
func (e *Evaluation) Delay() time.Duration {
	var longest time.Duration
	if e.Verdict != backend.OK {
		return 0
	}
	for i := range e.Results {
		if r := &e.Results[i]; r.Answer != nil && r.Answer.Allowed && r.Mode&backend.Shadow == 0 {
			longest = max(longest, r.Answer.Delay)
		}
	}
	return longest
}

// Deciding is the result that a caller should hear of: in a refused request, of
// those that refused it, the one with the longest wait; else the one with the
// least remaining. A refused request has nothing to say of a rule that could not
// decide and has no policy for that: another refused it. A rule in shadow is heard of only where there is no other. It
// is nil if nothing was decided.
func (e *Evaluation) Deciding() *Result {
	var found *Result
	for i := range e.Results {
		r := &e.Results[i]
		switch {
		case r.Answer == nil:
		case e.Verdict == backend.OverLimit && r.undecided():
		case found == nil || e.goesBefore(r, found):
			found = r
		}
	}
	return found
}

func (e *Evaluation) goesBefore(r, other *Result) bool {
	if r.Rule.Shadow != other.Rule.Shadow {
		return other.Rule.Shadow
	}
	if e.Verdict == backend.OverLimit {
		if a, b := r.weight(), other.weight(); a != b {
			return a > b
		}
		if r.Over() {
			return r.Wait() > other.Wait()
		}
	}
	return r.Answer.Remaining < other.Answer.Remaining
}

// weight orders what refuses a request: a rule that does so alone, a quota rule,
// which needs all others of its kind, and one that does not.
func (r *Result) weight() int {
	switch {
	case !r.Over():
		return 0
	case r.Mode&backend.Quota != 0:
		return 1
	default:
		return 2
	}
}

// undecided says that neither the store nor a policy decided.
func (r *Result) undecided() bool {
	return r.Answer.Err != nil && r.Limit.OnError == backend.OnErrorFail
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
	s.Remaining = r.Remaining()
	s.HasReset, s.Reset = true, r.Reset()
	return s
}

// RequestsPerUnit is the limit in force, which for an adaptive rule is not the
// one in its file.
func (r *Result) RequestsPerUnit() uint32 {
	return uint32(min(r.Limit.Limit.Limit(), math.MaxUint32)) //nolint:gosec // a limit has at most 32 bits
}

// Remaining is the hits that are left, as far as an answer can say.
func (r *Result) Remaining() uint32 {
	return uint32(min(r.Answer.Remaining, math.MaxUint32)) //nolint:gosec // cut to what fits
}

// never says that no wait admits the request: the rule denies, or the hits are
// more than it ever has.
func (r *Result) never() bool {
	return r.Limit.Limit.Kind() == algorithms.Deny || r.Answer.RetryAfter == algorithms.Never
}

// Wait is the time until the same request is admitted, exactly; the window where
// no wait helps.
func (r *Result) Wait() time.Duration {
	if r.never() {
		return r.Limit.Limit.Window()
	}
	return r.Answer.RetryAfter
}

// Reset is when to come back, in whole seconds, because Envoy cuts off the rest:
// when refused, after the wait; else when the limit is whole again, which for a
// window on the epoch's grid is always the window's end.
func (r *Result) Reset() time.Duration {
	wait := r.Answer.ResetAfter
	switch {
	case !r.Answer.Allowed:
		wait = r.Wait()
	case r.Rule.OnGrid():
		window := r.Limit.Limit.Window()
		wait = window - time.Duration(r.Answer.Now%int64(window))
	}
	return (wait + time.Second - 1).Truncate(time.Second)
}
