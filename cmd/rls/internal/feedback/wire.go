package feedback

import (
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	varint = uint64(protowire.VarintType)
	length = uint64(protowire.BytesType)
)

// wire walks the fields of one encoded message. A known field number with
// another wire type is another tag, and so an unknown field, as protobuf wants.
type wire struct {
	rest []byte
	tag  uint64 // field number and wire type of the current field
	n    uint64 // its value, if a varint
	b    []byte // its value, if of bytes
	bad  bool   // what follows is no protobuf
}

// next goes to the next field; false at the end and at the first that is bad.
func (w *wire) next() bool {
	if w.bad || len(w.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(w.rest)
	if n < 0 {
		w.bad = true
		return false
	}
	w.rest = w.rest[n:]
	w.tag, w.n, w.b = protowire.EncodeTag(num, typ), 0, nil
	switch typ {
	case protowire.VarintType:
		w.n, n = protowire.ConsumeVarint(w.rest)
	case protowire.BytesType:
		w.b, n = protowire.ConsumeBytes(w.rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, w.rest)
	}
	if n < 0 {
		w.bad = true
		return false
	}
	w.rest = w.rest[n:]
	return true
}

// pair reads one entry of a map with text for keys: its key, and the walk over
// its fields, of which pairValue is the value, if the key is the one wanted.
func pair(b []byte, key string) (fields wire, found, ok bool) {
	w := wire{rest: b}
	for w.next() {
		if w.tag == pairKey {
			found = string(w.b) == key
		}
	}
	return wire{rest: b}, found, !w.bad
}

const (
	pairKey   = 1<<3 | length
	pairValue = 2<<3 | length
)
