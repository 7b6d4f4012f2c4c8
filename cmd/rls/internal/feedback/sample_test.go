package feedback

import (
	"testing"
	"time"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ms is a time of an entry, in ms after the start; none is absent.
func ms(n int64) *durationpb.Duration {
	if n == none {
		return nil
	}
	return durationpb.New(time.Duration(n) * time.Millisecond)
}

const none = -1

// made is an entry with times in ms after its start.
func made(code uint32, sent, answered, duration int64, flags *accesslogpb.ResponseFlags) *accesslogpb.HTTPAccessLogEntry {
	m := &accesslogpb.HTTPAccessLogEntry{
		CommonProperties: &accesslogpb.AccessLogCommon{
			StartTime: timestamppb.New(epoch()), TimeToLastUpstreamTxByte: ms(sent), TimeToFirstUpstreamRxByte: ms(answered), Duration: ms(duration),
			ResponseFlags: flags, AccessLogType: accesslogpb.AccessLogType_DownstreamEnd,
		},
		Response: &accesslogpb.HTTPResponseProperties{},
	}
	if code != 0 {
		m.Response.ResponseCode = wrapperspb.UInt32(code)
	}
	return m
}

// TestSamples: Envoy's flags and times, beyond those that were captured.
func TestSamples(t *testing.T) {
	t.Parallel()
	type flags = accesslogpb.ResponseFlags
	for _, row := range []struct {
		name           string
		code           uint32
		sent, answered int64 // ms
		duration       int64 // ms
		flags          *flags
		skip           Skip
		failed         bool
		latency        int64 // ms
		ended          int64 // ms
	}{
		{"held in a queue", 200, 5000, 5040, 5050, nil, notSkipped, false, 40, 5040},
		{"499 is an answer", 499, 1, 41, 50, nil, notSkipped, false, 40, 41},
		{"the upstream's 429", 429, 1, 41, 50, nil, SkipRefused, false, 0, 0},
		{"the upstream's 429, broken off", 429, 1, 41, 50, &flags{UpstreamRemoteReset: true}, SkipRefused, false, 0, 0},
		{"the upstream's 429, not all of it in time", 429, 1, 41, 301, &flags{UpstreamRequestTimeout: true}, SkipRefused, false, 0, 0},
		{"our 429 without a flag", 429, none, none, 1, nil, SkipNoUpstream, false, 0, 0},
		{"the upstream's 500", 500, 1, 41, 50, nil, notSkipped, true, 40, 41},
		{"reset in the middle of the answer", 200, 1, 41, 50, &flags{UpstreamRemoteReset: true}, notSkipped, true, 40, 41},
		{"closed in the middle of the answer", 200, 1, 41, 50, &flags{UpstreamConnectionTermination: true}, notSkipped, true, 40, 41},
		{"client gone in the middle of the answer", 200, 1, 41, 50, &flags{DownstreamConnectionTermination: true}, notSkipped, false, 40, 41},
		{"timeout in the middle of the answer", 200, 1, 41, 301, &flags{UpstreamRequestTimeout: true}, notSkipped, true, 300, 301},
		{"answered before all was sent", 413, 90, 41, 100, nil, notSkipped, false, none, 41},
		{"answered, and not all was sent", 413, none, 41, 100, nil, notSkipped, false, none, 41},
		{"timeout while sending", 504, none, none, 301, &flags{UpstreamRequestTimeout: true}, notSkipped, true, none, 301},
		{"longest duration of a stream", 504, 1, none, 301, &flags{UpstreamMaxStreamDurationReached: true}, notSkipped, true, 300, 301},
		{"idle upstream", 504, 1, none, 301, &flags{StreamIdleTimeout: true}, notSkipped, true, 300, 301},
		{"idle client that sends", 408, none, none, 301, &flags{StreamIdleTimeout: true}, SkipNoUpstream, false, 0, 0},
		{"idle client that reads", 200, 1, 41, 301, &flags{StreamIdleTimeout: true}, notSkipped, false, 40, 41},
		{"longest duration", 504, 1, none, 301, &flags{DurationTimeout: true}, notSkipped, true, 300, 301},
		{"reset before the answer", 503, 1, none, 50, &flags{UpstreamRemoteReset: true}, notSkipped, true, none, 50},
		{"local reset", 503, 1, none, 50, &flags{LocalReset: true}, notSkipped, true, none, 50},
		{"protocol error", 502, 1, none, 50, &flags{UpstreamProtocolError: true}, notSkipped, true, none, 50},
		{"no healthy upstream", 503, none, none, 50, &flags{NoHealthyUpstream: true}, notSkipped, true, none, 50},
		{"circuit breaker", 503, none, none, 50, &flags{UpstreamOverflow: true}, notSkipped, true, none, 50},
		{"retries used up", 503, none, none, 50, &flags{UpstreamRetryLimitExceeded: true}, notSkipped, true, none, 50},
		{"no address", 503, none, none, 50, &flags{DnsResolutionFailure: true}, notSkipped, true, none, 50},
		{"client reset its stream", 0, 1, none, 50, &flags{DownstreamRemoteReset: true}, SkipClientGone, false, 0, 0},
		{"client gone before the answer went on", 0, 1, 41, 50, &flags{DownstreamConnectionTermination: true}, SkipClientGone, false, 0, 0},
		{"our 429 with another code", 503, none, none, 1, &flags{RateLimited: true}, SkipDenied, false, 0, 0},
		{"rls failed, Envoy refuses", 500, none, none, 1, &flags{RateLimitServiceError: true}, SkipNoUpstream, false, 0, 0},
		{"no route", 404, none, none, 1, &flags{NoRouteFound: true}, SkipNoUpstream, false, 0, 0},
		{"no cluster", 503, none, none, 1, &flags{NoClusterFound: true}, SkipNoUpstream, false, 0, 0},
		{"injected fault", 503, none, none, 1, &flags{FaultInjected: true}, SkipNoUpstream, false, 0, 0},
		{"Envoy's own answer", 200, none, none, 1, nil, SkipNoUpstream, false, 0, 0},
		{"long answer", 200, 1, 41, 10_041, nil, notSkipped, false, 40, 41},
		{"longer answer", 200, 1, 41, 10_042, nil, SkipStale, false, 0, 0},
		{"times that make no sense", 200, -50, 40, 50, nil, notSkipped, false, none, 40},
		{"no duration, as of old", 200, 1, 41, none, nil, notSkipped, false, 40, 41},
	} {
		got, skip := decoded(t, made(row.code, row.sent, row.answered, row.duration, row.flags)).judge()
		if skip != row.skip {
			t.Errorf("%s: skipped as %q, want %q", row.name, skip, row.skip)
		}
		if skip != notSkipped {
			continue
		}
		at := func(ms int64) int64 { return epoch().UnixNano() + ms*int64(time.Millisecond) }
		want := sample{ended: at(row.ended), logged: at(max(row.duration, row.answered)), timed: true, failed: row.failed}
		if row.latency != none {
			want.latency, want.bucket = true, bucketOf(time.Duration(row.latency)*time.Millisecond)
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", row.name, got, want)
		}
	}
}

// TestGRPC: an answer with HTTP status 200 may be an error, where the log has gRPC's.
func TestGRPC(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name            string
		header, trailer string // "" is none
		skip            Skip
		failed, latency bool
	}{
		{"no gRPC", "", "", notSkipped, false, true},
		{"OK", "", "0", notSkipped, false, true},
		{"CANCELLED", "", "1", SkipClientGone, false, false},
		{"UNKNOWN", "", "2", notSkipped, true, true},
		{"INVALID_ARGUMENT", "", "3", notSkipped, false, true},
		{"DEADLINE_EXCEEDED", "", "4", notSkipped, true, true},
		{"NOT_FOUND", "", "5", notSkipped, false, true},
		{"ALREADY_EXISTS", "", "6", notSkipped, false, true},
		{"PERMISSION_DENIED", "", "7", notSkipped, false, true},
		{"RESOURCE_EXHAUSTED of the upstream, as its 429", "", "8", SkipRefused, false, false},
		{"FAILED_PRECONDITION", "", "9", notSkipped, false, true},
		{"ABORTED", "", "10", notSkipped, false, true},
		{"OUT_OF_RANGE", "", "11", notSkipped, false, true},
		{"UNIMPLEMENTED", "", "12", notSkipped, false, true},
		{"INTERNAL", "", "13", notSkipped, true, true},
		{"UNAVAILABLE", "", "14", notSkipped, true, false},
		{"DATA_LOSS", "", "15", notSkipped, true, true},
		{"UNAUTHENTICATED", "", "16", notSkipped, false, true},
		{"in the headers", "13", "", notSkipped, true, true},
		{"in both", "13", "14", notSkipped, true, false},
		{"beyond 32 bits", "", "4294967310", notSkipped, false, true}, // 2^32 + 14
		{"no number", "", "fourteen", notSkipped, false, true},
	} {
		m := made(200, 1, 41, 50, nil)
		for to, status := range map[*map[string]string]string{&m.Response.ResponseHeaders: row.header, &m.Response.ResponseTrailers: row.trailer} {
			*to = map[string]string{"x": "13"}
			if status != "" {
				(*to)[statusKey] = status
			}
		}
		got, skip := decoded(t, m).judge()
		if skip != row.skip || got.failed != row.failed || got.latency != row.latency {
			t.Errorf("%s: skipped as %q, %+v", row.name, skip, got)
		}
	}
	denied := made(200, none, none, 1, &accesslogpb.ResponseFlags{RateLimited: true})
	denied.Response.ResponseHeaders = map[string]string{statusKey: "14"}
	if _, skip := decoded(t, denied).judge(); skip != SkipDenied {
		t.Errorf("refused by rls: skipped as %q", skip)
	}
}

// TestRefusedFurtherOn: another Envoy before the target marks what it refuses.
func TestRefusedFurtherOn(t *testing.T) {
	t.Parallel()
	mark := map[string]string{limitedKey: "true"}
	for _, row := range []struct {
		name            string
		code            uint32
		header, trailer map[string]string
		skip            Skip
	}{
		{"503", 503, mark, nil, SkipRefused},
		{"400", 400, mark, nil, SkipRefused},
		{"not enforced", 399, mark, nil, notSkipped},
		{"UNAVAILABLE", 200, map[string]string{limitedKey: "true", statusKey: "14"}, nil, SkipRefused},
		{"UNAVAILABLE in the trailer", 200, nil, map[string]string{limitedKey: "true", statusKey: "14"}, SkipRefused},
		{"OK", 200, map[string]string{limitedKey: "true", statusKey: "0"}, nil, notSkipped},
		{"another header", 503, map[string]string{"x-envoy-ratelimite": "true"}, nil, notSkipped},
	} {
		m := made(row.code, 1, 41, 50, nil)
		m.Response.ResponseHeaders, m.Response.ResponseTrailers = row.header, row.trailer
		if _, skip := decoded(t, m).judge(); skip != row.skip {
			t.Errorf("%s: skipped as %q, want %q", row.name, skip, row.skip)
		}
	}
}

// TestOtherEntries are no requests that have ended, or say no time.
func TestOtherEntries(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*accesslogpb.AccessLogCommon)
		skip   Skip
		timed  bool
	}{
		"plain":                  {func(*accesslogpb.AccessLogCommon) {}, notSkipped, true},
		"of an old Envoy":        {func(c *accesslogpb.AccessLogCommon) { c.AccessLogType = accesslogpb.AccessLogType_NotSet }, notSkipped, true},
		"at the start":           {func(c *accesslogpb.AccessLogCommon) { c.AccessLogType = accesslogpb.AccessLogType_DownstreamStart }, SkipPartial, false},
		"now and then":           {func(c *accesslogpb.AccessLogCommon) { c.AccessLogType = accesslogpb.AccessLogType_DownstreamPeriodic }, SkipPartial, false},
		"of one attempt":         {func(c *accesslogpb.AccessLogCommon) { c.AccessLogType = accesslogpb.AccessLogType_UpstreamEnd }, SkipPartial, false},
		"in the middle":          {func(c *accesslogpb.AccessLogCommon) { c.IntermediateLogEntry = true }, SkipPartial, false}, //nolint:staticcheck // what old Envoys say
		"without a start":        {func(c *accesslogpb.AccessLogCommon) { c.StartTime = nil }, notSkipped, false},
		"before the epoch":       {func(c *accesslogpb.AccessLogCommon) { c.StartTime = &timestamppb.Timestamp{Seconds: -1} }, notSkipped, false},
		"in a far future":        {func(c *accesslogpb.AccessLogCommon) { c.StartTime = &timestamppb.Timestamp{Seconds: 1<<33 + 1} }, notSkipped, false},
		"nanos out of range":     {func(c *accesslogpb.AccessLogCommon) { c.StartTime = &timestamppb.Timestamp{Nanos: 1_000_000_000} }, notSkipped, false},
		"duration out of range":  {func(c *accesslogpb.AccessLogCommon) { c.Duration = &durationpb.Duration{Seconds: 1<<22 + 1} }, notSkipped, true},
		"delivered, no duration": {func(c *accesslogpb.AccessLogCommon) { c.Duration, c.TimeToLastDownstreamTxByte = nil, ms(20_000) }, SkipStale, false},
	} {
		m := made(200, 1, 41, 50, nil)
		row.change(m.GetCommonProperties())
		if s, skip := decoded(t, m).judge(); skip != row.skip || s.timed != row.timed {
			t.Errorf("%s: skipped as %q, timed %v, want %q, %v", name, skip, s.timed, row.skip, row.timed)
		}
	}
}
