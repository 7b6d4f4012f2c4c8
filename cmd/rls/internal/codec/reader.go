package codec

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errFieldNumber = errors.New("invalid field number")

// reader walks protobuf's wire format. It has the bytes twice: b is gRPC's and
// gone after the decode, s is the copy that strings are cut from, so a message
// costs one allocation. The first error stays: next then reports false.
type reader struct {
	b       []byte
	s       string
	pos     int    // of the next byte
	end     int    // of the innermost open message
	tag     uint64 // of the current field
	err     error
	entries int // read so far
}

// next reads the tag of the next field of the open message.
func (r *reader) next() bool {
	if r.err != nil || r.pos == r.end {
		return false
	}
	r.tag = r.varint()
	num := r.tag >> 3
	if r.err == nil && (num < uint64(protowire.MinValidNumber) || num > uint64(protowire.MaxValidNumber)) {
		r.err = errFieldNumber
	}
	return r.err == nil
}

// open enters the message in the current field; close leaves it again.
func (r *reader) open() (outer int) {
	outer = r.end
	v, n := protowire.ConsumeBytes(r.b[r.pos:r.end])
	if r.advance(n) {
		r.end = r.pos
		r.pos -= len(v)
	}
	return outer
}

func (r *reader) close(outer int) { r.end = outer }

func (r *reader) varint() uint64 {
	v, n := protowire.ConsumeVarint(r.b[r.pos:r.end])
	r.advance(n)
	return v
}

func (r *reader) uint32() uint32 { return truncated(r.varint()) }

func truncated(v uint64) uint32 {
	return uint32(v) //nolint:gosec // protobuf drops the high bits of a 32-bit field
}

func (r *reader) text() string {
	v, n := protowire.ConsumeBytes(r.b[r.pos:r.end])
	if !r.advance(n) {
		return ""
	}
	return r.s[r.pos-len(v) : r.pos]
}

// wrapped merges a UInt32Value or UInt64Value into v.
func (r *reader) wrapped(v uint64) uint64 {
	outer := r.open()
	for r.next() {
		if r.tag == wrapperValue {
			v = r.varint()
		} else {
			r.skip()
		}
	}
	r.close(outer)
	return v
}

// skip passes over an unknown field, a group included.
func (r *reader) skip() {
	num, typ := protowire.DecodeTag(r.tag)
	r.advance(protowire.ConsumeFieldValue(num, typ, r.b[r.pos:r.end]))
}

// advance takes the count of a protowire function, negative for an error.
func (r *reader) advance(n int) bool {
	if n < 0 {
		r.err = protowire.ParseError(n)
		return false
	}
	r.pos += n
	return true
}
