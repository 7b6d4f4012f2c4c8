package codec

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	varint = uint64(protowire.VarintType)
	length = uint64(protowire.BytesType)
)

// Tags of the known fields: field number and wire type. A known number with
// another wire type is an unknown field.
const (
	requestDomain      = 1<<3 | length
	requestDescriptors = 2<<3 | length
	requestHits        = 3<<3 | varint

	descriptorEntries  = 1<<3 | length
	descriptorLimit    = 2<<3 | length
	descriptorHits     = 3<<3 | length
	descriptorNegative = 4<<3 | varint

	entryKey   = 1<<3 | length
	entryValue = 2<<3 | length

	overrideRequests   = 1<<3 | varint
	overrideUnit       = 2<<3 | varint
	overrideMultiplier = 3<<3 | length

	wrapperValue = 1<<3 | varint
)

var (
	errDescriptors = fmt.Errorf("more than %d descriptors", MaxDescriptors)
	errEntries     = fmt.Errorf("more than %d entries", MaxEntries)
)

// Decode implements Decoder.
func (q *Request) Decode(wire []byte) {
	q.Reset()
	r := reader{b: wire, s: string(wire), end: len(wire)}
	for r.next() {
		switch r.tag {
		case requestDomain:
			q.Domain = r.text()
		case requestDescriptors:
			if len(q.Descriptors) == MaxDescriptors {
				r.err = errDescriptors
				continue
			}
			q.grow().decode(&r)
		case requestHits:
			q.HitsAddend = r.uint32()
		default:
			r.skip()
		}
	}
	if r.err != nil {
		q.Err = fmt.Errorf("decoding RateLimitRequest: byte %d: %w", r.pos, r.err)
	}
}

func (d *Descriptor) decode(r *reader) {
	outer := r.open()
	for r.next() {
		switch r.tag {
		case descriptorEntries:
			if r.entries++; r.entries > MaxEntries {
				r.err = errEntries
				continue
			}
			d.Entries = append(d.Entries, Entry{})
			decodeEntry(&d.Entries[len(d.Entries)-1], r)
		case descriptorLimit:
			d.HasLimit = true
			d.Limit.decode(r)
		case descriptorHits:
			d.HasHitsAddend = true
			d.HitsAddend = r.wrapped(d.HitsAddend)
		case descriptorNegative:
			d.Negative = protowire.DecodeBool(r.varint())
		default:
			r.skip()
		}
	}
	r.close(outer)
}

func decodeEntry(e *Entry, r *reader) {
	outer := r.open()
	for r.next() {
		switch r.tag {
		case entryKey:
			e.Key = r.text()
		case entryValue:
			e.Value = r.text()
		default:
			r.skip()
		}
	}
	r.close(outer)
}

// decode merges: a repeated embedded message changes only the fields it names.
func (o *Override) decode(r *reader) {
	outer := r.open()
	for r.next() {
		switch r.tag {
		case overrideRequests:
			o.RequestsPerUnit = r.uint32()
		case overrideUnit:
			o.Unit = int32(r.uint32()) //nolint:gosec // an enum is the low 32 bits, signed
		case overrideMultiplier:
			o.HasUnitMultiplier = true
			o.UnitMultiplier = truncated(r.wrapped(uint64(o.UnitMultiplier)))
		default:
			r.skip()
		}
	}
	r.close(outer)
}
