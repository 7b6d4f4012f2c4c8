package codec

import "time"

// Code is a verdict. Its zero value, UNKNOWN, is never an answer.
type Code int32

// The numbers of RateLimitResponse.Code.
const (
	OK        Code = 1
	OverLimit Code = 2
)

// Response is envoy.service.ratelimit.v3.RateLimitResponse. In its strings each
// run of bytes that are not UTF-8 is written as U+FFFD, because one such string
// would make the client refuse the whole answer.
type Response struct {
	Code            Code
	Statuses        []Status // one per descriptor, in their order
	ResponseHeaders []Header
	RequestHeaders  []Header
	RawBody         []byte        // for the caller, if the code is OverLimit
	DynamicMetadata []StringField // each key once
	MoreMetadata    []byte        // an encoded google.protobuf.Struct that adds to it
}

// Status is the verdict for one descriptor.
type Status struct {
	Limit     Limit
	Reset     time.Duration // until the limit is whole again
	Code      Code
	Remaining uint32 // hits
	HasLimit  bool
	HasReset  bool
}

// Limit is the limit that applied to a descriptor.
type Limit struct {
	Name            string
	RequestsPerUnit uint32 // hits per period
	Unit            int32  // a number of RateLimitResponse.RateLimit.Unit
	UnitMultiplier  uint32 // units per period; 0 leaves it out, which means 1
}

// Header is one header to add.
type Header struct{ Key, Value string }

// StringField is one field of a google.protobuf.Struct.
type StringField struct{ Key, Value string }
