// Package algorithms holds every rate-limit algorithm as a pure transition: a
// rule's numbers, a state, an instant and a number of hits give the next state
// and a decision. All arithmetic is in exact integers with 128-bit
// intermediates. Nothing here does I/O, reads a clock or takes a lock.
//
// Instants and durations are nanoseconds; instants count from the Unix epoch.
package algorithms

import "time"

// Never is the RetryAfter of a request that no wait can admit: it asks for more
// hits than the rule's capacity, or the rule denies everything.
const Never time.Duration = -1

// Bounds of a rule's numbers, enforced by New.
const (
	// MaxCount is the largest limit, burst or capacity, and the largest overdraft.
	MaxCount = 1<<32 - 1
	// MaxLogLimit is the largest limit of a sliding log, which keeps an entry a hit.
	MaxLogLimit = 100_000
	// MaxBuckets is the largest number of sub-windows of a sliding counter.
	MaxBuckets = 64
	// MaxWindow is the longest window: 366 days.
	MaxWindow = 366 * 24 * time.Hour
	// MaxFill is the longest time in which a bucket may fill, debt included: 100
	// years of 366 days.
	MaxFill = 100 * MaxWindow
)

// Kind is an algorithm together with its variant. The zero Kind is invalid.
type Kind uint8

// The kinds of rules.
const (
	FixedWindow Kind = iota + 1
	SlidingCounter
	SlidingLog
	TokenBucket
	LeakyMeter
	LeakyQueue
	GCRA
	Adaptive
	// Deny is a rule with a limit of 0: it has no state and admits nothing.
	Deny
)

// Params are the numbers of one rule as its owner wrote them; New checks them.
type Params struct {
	Kind      Kind
	Limit     int64         // hits per Window; of an adaptive rule: where it starts
	Window    time.Duration // W
	Burst     int64         // capacity B of the TAT kinds; 0 = Limit. Not for window kinds, nor for Adaptive
	Overdraft int64         // N hits of debt of a post-paid rule; 0 = not post-paid. Not for SlidingLog and LeakyQueue
	Buckets   int64         // sub-windows of SlidingCounter; 0 = 1
	FirstHit  bool          // FixedWindow: a window starts with its first admitted hit, not at the epoch's grid
	MaxDelay  time.Duration // LeakyQueue: the longest wait; 0 = as long as the bucket can fill

	// Adaptive only. The limit moves in [MinLimit, MaxLimit], the burst is
	// max(1, floor(limit*BurstNum/BurstDen)); 0/0 = 1/1.
	MinLimit, MaxLimit int64
	BurstNum, BurstDen int64
}

// State is what one key has used: 24 bytes without pointers, kept by value. The
// zero State is a key that was never seen. Its words are private to a family.
type State [3]int64

// Decision is a rule's answer to one request for one key.
type Decision struct {
	Allowed    bool
	Remaining  int64         // the most hits that would be admitted at the same instant, after this decision
	RetryAfter time.Duration // 0 when allowed; the least wait that admits the same request if nothing else happens; Never
	ResetAfter time.Duration // the least wait until Remaining is the full capacity; 0 when it is
	Delay      time.Duration // LeakyQueue: how long an admitted request has to wait before it goes on
}

// Layout says where a rule keeps the state of a key.
type Layout uint8

// The layouts of states.
const (
	Stateless Layout = iota // Deny
	Inline                  // a State, by Decide
	InLog                   // a Log, by DecideLog
	InCounts                // a Counts, by DecideCounts
)
