package feedback

import (
	"fmt"
	"sync/atomic"
)

// Outcome is what became of a report.
type Outcome uint8

// The outcomes.
const (
	Accepted Outcome = iota
	Repeat
	Late
	UnknownTarget
	Full       // the target has all reporters that it may have, or that it may have of the caller
	Malformed  // refused as InvalidArgument
	NotAllowed // a call, or a stream, of a peer that may not report
	outcomes
)

// String is the outcome as a metric's label.
func (o Outcome) String() string {
	return [...]string{"accepted", "repeat", "late", "unknown_target", "full", "malformed", "not_allowed"}[o]
}

// words say why a report does not count, for people; nothing if it does.
func (o Outcome) words() string {
	switch o {
	case Repeat:
		return "a repeat: its sequence or its window was reported before"
	case Late:
		return fmt.Sprintf("late: its window ended more than %v ago", oldest)
	case Full:
		return fmt.Sprintf("its target has %d reporters already, or %d of your certificate or address", maxReporters, maxOfOrigin)
	default:
		return ""
	}
}

// Skip is why an entry of an access log is no sample.
type Skip uint8

// The reasons.
const (
	notSkipped        Skip = iota
	SkipDenied             // refused by rls: it never reached the target
	SkipRefused            // refused by the target itself
	SkipUnattributed       // neither rls nor the log's configuration names a target
	SkipUnknownTarget      // no adaptive rule has its targets
	SkipClientGone         // the client did not wait for the answer
	SkipNoUpstream         // Envoy answered by itself
	SkipPartial            // the request goes on, or the entry is about one attempt
	SkipStale              // its latency was seen more than 10 s before its end
	SkipTCP                // a message of entries about connections
	SkipFull               // as Full
	SkipMalformed          // no protobuf: the entry, or the rest of its message
	skips
)

// String is the reason as a metric's label.
func (s Skip) String() string {
	return [...]string{
		"", "denied", "refused", "unattributed", "unknown_target", "client_gone", "no_upstream", "partial", "stale", "tcp", "full", "malformed",
	}[s]
}

// Stats are counts since the start.
type Stats struct {
	Reports [outcomes]uint64 // by Outcome
	Entries uint64           // of access logs
	Skipped [skips]uint64    // of these, by Skip
}

// counts is Stats while it grows.
type counts struct {
	reports [outcomes]atomic.Uint64
	entries atomic.Uint64
	skipped [skips]atomic.Uint64
}

// Stats are the counts so far.
func (b *Book) Stats() Stats {
	s := Stats{Entries: b.counts.entries.Load()}
	for i := range s.Reports {
		s.Reports[i] = b.counts.reports[i].Load()
	}
	for i := range s.Skipped {
		s.Skipped[i] = b.counts.skipped[i].Load()
	}
	return s
}
