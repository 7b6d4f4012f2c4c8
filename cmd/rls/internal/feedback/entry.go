package feedback

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Tags of what is read of a StreamAccessLogsMessage; all else is passed over.
const (
	messageIdentifier = 1<<3 | length
	messageHTTP       = 2<<3 | length
	messageTCP        = 3<<3 | length
	identifierNode    = 1<<3 | length
	nodeID            = 1<<3 | length
	logsEntry         = 1<<3 | length

	entryCommon      = 1<<3 | length
	entryResponse    = 4<<3 | length
	responseCode     = 1<<3 | length
	responseHeaders  = 4<<3 | length
	responseTrailers = 5<<3 | length
	wrapperValue     = 1<<3 | varint

	commonStart      = 5<<3 | length
	commonSent       = 8<<3 | length
	commonAnswered   = 9<<3 | length
	commonDelivered  = 12<<3 | length
	commonFlags      = 16<<3 | length
	commonMetadata   = 17<<3 | length
	commonTags       = 22<<3 | length
	commonDuration   = 23<<3 | length
	commonPartial    = 27<<3 | varint
	commonType       = 33<<3 | varint
	spanSeconds      = 1<<3 | varint
	spanNanos        = 2<<3 | varint
	metadataFilter   = 1<<3 | length
	structField      = 1<<3 | length
	valueNull        = 1<<3 | varint
	valueNumber      = 2<<3 | 1 // fixed64
	valueText        = 3<<3 | length
	valueBool        = 4<<3 | varint
	valueStruct      = 5<<3 | length
	valueList        = 6<<3 | length
	numberedFlags    = 32 // more than there are
	targetsKey       = "rls.targets"
	targetsNamespace = "envoy.filters.http.ratelimit"
	statusKey        = "grpc-status"
	limitedKey       = "x-envoy-ratelimited"
)

// entry is what is read of one HTTPAccessLogEntry. Its bytes are those of the
// message.
type entry struct {
	start     span // since the epoch, on Envoy's clock
	sent      span // the last byte to the upstream, since start, as those below
	answered  span // the first byte from the upstream
	delivered span // the last byte to the client
	duration  span // of the whole; Envoys before 1.26 do not say it
	flags     flagSet
	code      uint32     // HTTP; 0: none was sent
	header    codes.Code // grpc-status there, which an answer that is nothing else has; OK if the log does not have it
	trailer   codes.Code // grpc-status there
	limited   bool       // another Envoy before the target refused it
	kind      uint32     // envoy.data.accesslog.v3.AccessLogType
	partial   bool       // the request goes on
	targets   []byte     // that rls wrote into its answer
	tag       []byte     // that the operator put into the log's configuration
}

func (e *entry) decode(b []byte) bool {
	*e = entry{}
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case entryCommon:
			w.bad = !e.common(w.b)
		case entryResponse:
			w.bad = !e.response(w.b)
		}
	}
	return !w.bad
}

func (e *entry) common(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case commonStart:
			w.bad = !e.start.decode(w.b)
		case commonSent:
			w.bad = !e.sent.decode(w.b)
		case commonAnswered:
			w.bad = !e.answered.decode(w.b)
		case commonDelivered:
			w.bad = !e.delivered.decode(w.b)
		case commonDuration:
			w.bad = !e.duration.decode(w.b)
		case commonFlags:
			w.bad = !e.flags.decode(w.b)
		case commonMetadata:
			w.bad = !e.metadata(w.b)
		case commonTags:
			w.bad = !e.tags(w.b)
		case commonPartial:
			e.partial = w.n != 0
		case commonType:
			e.kind = uint32(w.n) //nolint:gosec // an enum has 32 bits
		}
	}
	return !w.bad
}

// metadata looks for what rls wrote.
func (e *entry) metadata(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		if w.tag != metadataFilter {
			continue
		}
		of, found, ok := pair(w.b, targetsNamespace)
		if found {
			e.targets = nil // a later entry of a map replaces an earlier one
		}
		for found && of.next() {
			if of.tag == pairValue {
				of.bad = !e.fields(of.b)
			}
		}
		w.bad = !ok || of.bad
	}
	return !w.bad
}

// fields reads a Struct.
func (e *entry) fields(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		if w.tag != structField {
			continue
		}
		of, found, ok := pair(w.b, targetsKey)
		if found {
			e.targets = nil
		}
		for found && of.next() {
			if of.tag == pairValue {
				of.bad = !e.value(of.b)
			}
		}
		w.bad = !ok || of.bad
	}
	return !w.bad
}

// value reads a Value, of which the last kind that is set counts.
func (e *entry) value(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case valueText:
			e.targets = w.b
		case valueNull, valueNumber, valueBool, valueStruct, valueList:
			e.targets = nil
		}
	}
	return !w.bad
}

func (e *entry) tags(b []byte) bool {
	of, found, ok := pair(b, targetsKey)
	if found {
		e.tag = nil
	}
	for found && of.next() {
		if of.tag == pairValue {
			e.tag = of.b
		}
	}
	return ok
}

// span is a Timestamp or a Duration.
type span struct {
	seconds, nanos int64
	set            bool
}

func (s *span) decode(b []byte) bool {
	s.set = true
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case spanSeconds:
			s.seconds = int64(w.n) //nolint:gosec // as protobuf writes a negative one
		case spanNanos:
			s.nanos = int64(int32(w.n)) //nolint:gosec // as protobuf writes a negative one
		}
	}
	return !w.bad
}

// What a span holds at most, so that sums of them fit into int64 nanoseconds.
const (
	longestSinceEpoch = 1 << 33 // s, the year 2242
	longestDuration   = 1 << 22 // s, 48 days
)

// within is the span in ns; not ok if it is absent, negative or longer than most
// seconds.
func (s span) within(most int64) (ns int64, ok bool) {
	const second = int64(time.Second)
	if !s.set || s.seconds < 0 || s.seconds > most || s.nanos < 0 || s.nanos >= second {
		return 0, false
	}
	return s.seconds*second + s.nanos, true
}

// flagSet has a bit for each of Envoy's ResponseFlags, by field number.
type flagSet uint32

func (f *flagSet) decode(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		if num := w.tag >> 3; w.tag&7 == varint && num < numberedFlags {
			*f &^= 1 << num
			if w.n != 0 {
				*f |= 1 << num
			}
		}
	}
	return !w.bad
}

func (f flagSet) any(of flagSet) bool { return f&of != 0 }
