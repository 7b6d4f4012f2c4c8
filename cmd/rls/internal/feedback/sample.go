package feedback

import (
	"cmp"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// Envoy's response flags, by their field numbers, by what they say of the target.
const (
	flagRateLimited flagSet = 1 << 12
	// gone: the client did not wait.
	gone flagSet = 1<<15 | 1<<28 // downstream_connection_termination, downstream_remote_reset
	// timeouts of Envoy on the upstream.
	timeouts flagSet = 1<<3 | 1<<20 // upstream_request_timeout, upstream_max_stream_duration_reached
	// idle may be the upstream's fault or the client's.
	idle flagSet = 1<<17 | 1<<23 // stream_idle_timeout, duration_timeout
	// broken: the answer did not come to its end.
	broken flagSet = 1<<4 | 1<<5 | 1<<7 | 1<<24 // local_reset, upstream_remote_reset, upstream_connection_termination, upstream_protocol_error
	// refused: the upstream did not take the request. no_healthy_upstream,
	// upstream_connection_failure, upstream_overflow, upstream_retry_limit_exceeded,
	// dns_resolution_failure.
	refused flagSet = 1<<2 | 1<<6 | 1<<8 | 1<<16 | 1<<27
)

// AccessLogType of an entry about a request that has ended.
const (
	kindNotSet        = 0 // Envoys before 1.26
	kindDownstreamEnd = 6
)

// stale is how long before the end of its request a latency may have been seen.
const stale = oldest

// sample is what one entry says of its targets.
type sample struct {
	ended   int64 // when the outcome was known, in ns since the epoch on Envoy's clock
	logged  int64 // when Envoy wrote the entry, on the same clock
	timed   bool  // both are known
	failed  bool
	bucket  int // of the latency
	latency bool
}

// judge makes a sample of an entry, or says why it is none.
func (e *entry) judge() (sample, Skip) {
	switch {
	case e.partial || e.kind != kindNotSet && e.kind != kindDownstreamEnd:
		return sample{}, SkipPartial
	case e.flags.any(flagRateLimited):
		return sample{}, SkipDenied
	case len(e.names()) == 0:
		return sample{}, SkipUnattributed
	}
	total := e.total()
	sent, hasSent := e.sent.within(longestDuration)
	answered, hasAnswered := e.answered.within(longestDuration)
	hasAnswered = hasAnswered && e.code != 0
	status := cmp.Or(e.trailer, e.header)
	s := sample{failed: true}
	ended := total
	switch {
	case hasAnswered && e.refused(status):
		return sample{}, SkipRefused
	case e.flags.any(timeouts), e.flags.any(idle) && hasSent && !hasAnswered:
		s.took(sent, total, hasSent)
	case hasAnswered && status == codes.Canceled:
		return sample{}, SkipClientGone
	case hasAnswered:
		ended = min(answered, total)
		s.failed = e.code >= http.StatusInternalServerError || e.flags.any(broken) || fault(status)
		s.took(sent, answered, hasSent && status != codes.Unavailable)
	case e.flags.any(gone):
		return sample{}, SkipClientGone
	case e.flags.any(broken | refused):
	default:
		return sample{}, SkipNoUpstream
	}
	if total-ended > int64(stale) {
		return sample{}, SkipStale
	}
	if start, ok := e.start.within(longestSinceEpoch); ok {
		s.timed, s.ended, s.logged = true, start+ended, start+total
	}
	return s, notSkipped
}

// refused says whether the target refused the request by itself, as pkg/feedback has
// it. That was quick, and says nothing of how it serves.
func (e *entry) refused(status codes.Code) bool {
	return e.code == http.StatusTooManyRequests || status == codes.ResourceExhausted || e.limited && (e.code >= http.StatusBadRequest || status != codes.OK)
}

// fault says whether a gRPC status is the target's fault, as pkg/feedback has it.
// UNAVAILABLE says nothing of the target's pace.
func fault(status codes.Code) bool {
	switch status {
	case codes.Unknown, codes.DeadlineExceeded, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}

// took notes a latency from one time of the request to another. An answer before
// the whole request was sent has none.
func (s *sample) took(from, to int64, known bool) {
	if known && from <= to {
		s.latency, s.bucket = true, adaptive.Bucket(time.Duration(to-from).Seconds())
	}
}

// total is how long the request took until its entry was written, in ns.
func (e *entry) total() int64 {
	total, ok := e.duration.within(longestDuration)
	if !ok {
		total, _ = e.delivered.within(longestDuration)
	}
	answered, _ := e.answered.within(longestDuration)
	sent, _ := e.sent.within(longestDuration)
	return max(total, answered, sent)
}

// names are the targets of an entry, with commas between.
func (e *entry) names() []byte {
	if len(e.targets) > 0 {
		return e.targets
	}
	return e.tag
}

func (s *sample) addTo(row *adaptive.Row) {
	if s.failed {
		row.Errors++
	} else {
		row.OK++
	}
	if s.latency {
		row.Latency.Add(s.bucket, 1)
	}
}
