package codec

import "github.com/eb50146d/rls/pkg/descriptors"

// What one message may hold. A descriptor or an entry can take two bytes on the
// wire and many times that in memory.
const (
	MaxDescriptors = 4096
	MaxEntries     = 16384 // of all descriptors together
)

// kept is the greatest capacity that Reset keeps, of descriptors per request and
// of entries per descriptor: a huge request does not stay in a pool.
const kept = 64

// Request is envoy.service.ratelimit.v3.RateLimitRequest. Its strings may hold
// any bytes, and they are parts of one copy of the message: clone the ones that
// outlive the request. The zero value is ready.
type Request struct {
	Domain      string
	Descriptors []Descriptor
	HitsAddend  uint32 // hits of a descriptor without its own; 0 means 1
	Err         error  // why the message is malformed; the other fields are then undefined
}

// Descriptor is one question of a request.
type Descriptor struct {
	Entries       []Entry // in the order of the path
	Limit         Override
	HitsAddend    uint64 // hits; 0 looks without charging
	HasLimit      bool
	HasHitsAddend bool
	Negative      bool // the hits are given back
}

// Entry is one step of a descriptor's path.
type Entry = descriptors.Entry

// Override is a limit to use in place of the configured one.
type Override struct {
	RequestsPerUnit   uint32 // hits per period; 0 blocks
	Unit              int32  // a number of envoy.type.v3.RateLimitUnit, known or not
	UnitMultiplier    uint32 // units per period
	HasUnitMultiplier bool   // false: one unit
}

// Reset empties q for reuse. It keeps slices of a usual size and drops the
// strings, so that an idle request holds no message.
func (q *Request) Reset() {
	for i := range q.Descriptors {
		q.Descriptors[i].reset()
	}
	*q = Request{Descriptors: emptied(q.Descriptors)}
}

func (d *Descriptor) reset() {
	clear(d.Entries)
	*d = Descriptor{Entries: emptied(d.Entries)}
}

func emptied[T any](s []T) []T {
	if cap(s) > kept {
		return nil
	}
	return s[:0]
}

// grow adds a descriptor, with the entries' capacity of an earlier request if
// there was one.
func (q *Request) grow() *Descriptor {
	n := len(q.Descriptors)
	if n < cap(q.Descriptors) {
		q.Descriptors = q.Descriptors[:n+1]
	} else {
		q.Descriptors = append(q.Descriptors, Descriptor{})
	}
	return &q.Descriptors[n]
}
