package algorithms

import (
	"fmt"
	"math"
	"time"
)

// Family groups the kinds that share one form of state: a key's state outlives
// a change of kind within its family.
type Family uint8

// The families. The zero Family is invalid.
const (
	FixedFamily Family = iota + 1
	CounterFamily
	LogFamily
	TATFamily
	DenyFamily
)

// String is the family's word in the identity of a state.
func (f Family) String() string {
	switch f {
	case FixedFamily:
		return "fixed"
	case CounterFamily:
		return "counter"
	case LogFamily:
		return "log"
	case TATFamily:
		return "tat"
	case DenyFamily:
		return "deny"
	default:
		return fmt.Sprintf("Family(%d)", uint8(f))
	}
}

// Family is the family of k, or 0 of an invalid Kind.
func (k Kind) Family() Family {
	switch k {
	case FixedWindow:
		return FixedFamily
	case SlidingCounter:
		return CounterFamily
	case SlidingLog:
		return LogFamily
	case TokenBucket, LeakyMeter, LeakyQueue, GCRA, Adaptive:
		return TATFamily
	case Deny:
		return DenyFamily
	default:
		return 0
	}
}

// maxInstant ends time, in 2162: later instants are taken for it, so that an
// instant plus the longest fill time, rounded up to a microsecond, fits int64.
const maxInstant = math.MaxInt64 - int64(MaxFill) - microsecond

const microsecond = int64(time.Microsecond)

// Rule is one rule's checked and precomputed numbers. It is immutable and safe
// for concurrent use.
type Rule struct {
	params Params // with the defaults filled in

	limit, window int64 // L hits per W ns
	capacity      int64 // B, or the limit of a window kind
	overdraft     int64 // N

	// Of the TAT family.
	emission span  // T
	slack    span  // (B-1)*T, the most debt beside which one hit fits
	full     span  // B*T
	fill     span  // (B+N)*T
	maxDelay int64 // ns; MaxInt64 where no wait is too long

	buckets   int64 // of the counter; else 1
	subWindow int64 // ns, W/buckets
}

// New makes the rule of p. Its error is a ParamErrors.
func New(p Params) (*Rule, error) {
	p = p.withDefaults()
	if errs := p.check(); len(errs) > 0 {
		return nil, errs
	}
	return newRule(p), nil
}

func newRule(p Params) *Rule {
	r := &Rule{
		params:    p,
		limit:     p.Limit,
		window:    int64(p.Window),
		capacity:  p.capacity(p.Limit),
		overdraft: p.Overdraft,
		maxDelay:  int64(p.MaxDelay),
		buckets:   p.Buckets,
		subWindow: int64(p.Window) / p.Buckets,
	}
	if p.Kind.Family() == TATFamily {
		r.emission = r.cost(1)
		r.slack = r.cost(r.capacity - 1)
		r.full = r.cost(r.capacity)
		r.fill = r.cost(r.capacity + r.overdraft)
	}
	return r
}

// Kind is the rule's algorithm.
func (r *Rule) Kind() Kind { return r.params.Kind }

// Limit is the number of hits in a Window; 0 of a Deny rule.
func (r *Rule) Limit() int64 { return r.limit }

// Bounds are the least and the largest limit of an Adaptive rule; other kinds have
// none, which is 0 and 0.
func (r *Rule) Bounds() (least, most int64) { return r.params.MinLimit, r.params.MaxLimit }

// Window is the time to which Limit applies.
func (r *Rule) Window() time.Duration { return time.Duration(r.window) }

// Capacity is the most hits that can be admitted at one instant.
func (r *Rule) Capacity() int64 { return r.capacity }

// Overdraft is the most hits of debt of a post-paid rule; 0 if it is not post-paid.
func (r *Rule) Overdraft() int64 { return r.overdraft }

// Buckets is the number of sub-windows of a SlidingCounter; 1 of other kinds.
func (r *Rule) Buckets() int64 { return r.buckets }

// Equal says whether two rules have the same numbers, and so decide alike.
func (r *Rule) Equal(o *Rule) bool { return r == o || r.params == o.params }

// Layout says which method decides: Decide, DecideLog or DecideCounts.
func (r *Rule) Layout() Layout {
	switch {
	case r.params.Kind == Deny:
		return Stateless
	case r.params.Kind == SlidingLog:
		return InLog
	case r.buckets > 1:
		return InCounts
	default:
		return Inline
	}
}

// WithLimit is an Adaptive rule at another limit, clamped to its bounds. Other
// kinds, and a limit that is already in force, give r itself.
func (r *Rule) WithLimit(limit int64) *Rule {
	limit = min(max(limit, r.params.MinLimit), r.params.MaxLimit)
	if r.params.Kind != Adaptive || limit == r.limit {
		return r
	}
	p := r.params
	p.Limit = limit
	return newRule(p)
}

// Decide answers hits at the instant now for the key whose state is s, and
// gives the state to keep: healed if s lies further in the future than a
// decision at now could have left it, charged if the hits were, and zero if the
// key is as if never seen. It is for the layouts Inline and Stateless. An instant
// before 1970 or after 2162 counts as the nearer end.
func (r *Rule) Decide(s State, now, hits int64) (State, Decision) {
	now = instant(now)
	switch r.params.Kind.Family() {
	case TATFamily:
		return r.decideTAT(s, now, hits)
	case FixedFamily:
		return r.decideFixed(s, now, hits)
	case DenyFamily:
		return State{}, Decision{RetryAfter: Never}
	default:
		r.mustKeep(Inline)
		return r.decideCounter(s, now, hits)
	}
}

// mustKeep panics if the rule's states are not kept in layout.
func (r *Rule) mustKeep(layout Layout) {
	if r.Layout() != layout {
		panic("algorithms: deciding by the method of another layout")
	}
}

func instant(now int64) int64 { return min(max(now, 0), maxInstant) }

// given is the number of hits that a refund of hits < 0 gives back of those held.
func given(hits, held int64) int64 { return min(-max(hits, -math.MaxInt64), held) }
