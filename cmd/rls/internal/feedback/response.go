package feedback

import (
	"strconv"

	"google.golang.org/grpc/codes"
)

func (e *entry) response(b []byte) bool {
	w := wire{rest: b}
	for w.next() {
		switch w.tag {
		case responseCode:
			value := wire{rest: w.b}
			for value.next() {
				if value.tag == wrapperValue {
					e.code = uint32(value.n) //nolint:gosec // protobuf drops the high bits of a 32-bit field
				}
			}
			w.bad = value.bad
		case responseHeaders:
			w.bad = !e.field(&e.header, w.b)
		case responseTrailers:
			w.bad = !e.field(&e.trailer, w.b)
		}
	}
	return !w.bad
}

// field reads gRPC's status, or the mark of a refusal, from a header or a trailer. A
// status that is no number says nothing.
func (e *entry) field(status *codes.Code, b []byte) bool {
	of, found, ok := pair(b, statusKey)
	if found {
		*status = codes.OK
	} else if _, limited, _ := pair(b, limitedKey); limited {
		e.limited = true
	}
	for found && of.next() {
		if of.tag == pairValue {
			n, _ := strconv.ParseUint(string(of.b), 10, 32)
			*status = codes.Code(n)
		}
	}
	return ok
}
