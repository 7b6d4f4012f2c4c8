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
			w.bad = !readStatus(&e.header, w.b)
		case responseTrailers:
			w.bad = !readStatus(&e.trailer, w.b)
		}
	}
	return !w.bad
}

// readStatus reads that of gRPC from a header or a trailer. What is no number says
// nothing.
func readStatus(to *codes.Code, b []byte) bool {
	of, found, ok := pair(b, statusKey)
	if found {
		*to = codes.OK
	}
	for found && of.next() {
		if of.tag == pairValue {
			n, _ := strconv.ParseUint(string(of.b), 10, 32)
			*to = codes.Code(n)
		}
	}
	return ok
}
