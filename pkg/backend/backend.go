// Package backend is the contract between the service and the stores that keep
// what each key has used, and the one place that forms a request's verdict.
package backend

import (
	"context"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// OnError is what becomes of an ask that the store could not decide in time.
// The zero OnError is invalid.
type OnError uint8

// The failure policies of a rule.
const (
	// OnErrorFail makes the request fail, so that the caller's own failure mode decides.
	OnErrorFail OnError = iota + 1
	OnErrorAllow
	OnErrorDeny
	// OnErrorLocal lets this process' own states decide meanwhile.
	OnErrorLocal
)

// Rule is what a backend has to know of a rule.
type Rule struct {
	Limit *algorithms.Rule
	// Group hashes the rule's family, domain and path without values; request
	// overrides have one per domain. It survives a reload and owns the overflow
	// state that new keys share when a bounded store is full.
	Group   uint64
	OnError OnError
	// CountRefused says that, in a request charged so, this fixed window counts
	// refused hits, too.
	CountRefused bool
}

// Same says whether two rules decide alike, so that hits of one key under both can
// be added up.
func (r *Rule) Same(o *Rule) bool {
	return r == o || r.Group == o.Group && r.OnError == o.OnError && r.Limit.Equal(o.Limit)
}

// Mode is how an ask counts in the verdict.
type Mode uint8

// The modes of an ask, a bit each. Both together are a quota rule that passes.
const (
	// Shadow asks are decided and charged but never count as over the limit.
	Shadow Mode = 1 << iota
	// Quota asks make a request over the limit only if all of them are.
	Quota
)

// Ask is one descriptor's question: may this key have these hits of this rule?
type Ask struct {
	Key  []byte // identity of the state, injective over rules and values
	Rule *Rule
	Hits int64 // > 0 charge, 0 look, < 0 refund
	Mode Mode
	// Legacy is what envoyproxy/ratelimit calls the key, without prefix and window,
	// where its counter is to be shared; else nil. Key cannot be turned into it,
	// since it has no delimiters to tell one part from the next.
	Legacy []byte
}

// Charge is what a request pays.
type Charge uint8

// The ways to charge. The zero Charge is invalid.
const (
	// AllOrNothing charges no ask of a request whose verdict is OverLimit, and
	// otherwise every ask that fits. Hits of equal keys are added up first.
	AllOrNothing Charge = iota + 1
	// Independent decides and charges every ask by itself, in order.
	Independent
	// CountRefused is Independent, but for asks whose rule says CountRefused: those
	// add their hits before they compare, as envoyproxy/ratelimit does, so that
	// refused hits count and a look is over only above the limit.
	CountRefused
	// Look decides with the real hits and writes nothing.
	Look
)

// Request is all that one call asks.
type Request struct {
	Charge Charge
	// QuotaPass says that a descriptor without a rule counts as a quota rule that passes.
	QuotaPass bool
	Asks      []Ask
}

// Source is where an answer came from. The zero Source is invalid.
type Source uint8

// The sources of answers.
const (
	FromStore Source = iota + 1
	FromCache
	FromLease
	FromFallback
)

// Answer is the answer to one ask.
type Answer struct {
	algorithms.Decision
	Now    int64 // the instant of the clock that decided, ns since the epoch
	Used   int64 // hits held by the key after the decision
	Source Source
	Err    error // the store's failure; the Decision then follows the rule's OnError
}

// Verdict is a request's overall code. The zero Verdict is invalid.
type Verdict uint8

// The verdicts.
const (
	OK Verdict = iota + 1
	OverLimit
	// Failed is an error that the caller has to see: no ask was refused, and one
	// whose policy is OnErrorFail was not decided.
	Failed
)

// Backend decides requests. It is safe for concurrent use.
type Backend interface {
	// Decide answers every ask of req in one atomic step and charges by
	// req.Charge. It fills answers, which is as long as req.Asks, and keeps
	// neither argument after it returns.
	Decide(ctx context.Context, req *Request, answers []Answer) Verdict
	// Ready says whether the store can decide now.
	Ready(ctx context.Context) error
	Close() error
}
