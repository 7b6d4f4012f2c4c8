package codec

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

func valid(s string) string {
	if utf8.ValidString(s) { // many times faster than ToValidUTF8
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// All field numbers are below 16, so each tag is one byte. Zero numbers and
// empty strings are left out.

func uintSize(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(v)
}

func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func textSize(s string) int {
	if s == "" {
		return 0
	}
	return bytesSize(len(valid(s)))
}

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	s = valid(s)
	return append(appendLength(b, num, len(s)), s...)
}

func bytesSize(n int) int { return 1 + protowire.SizeBytes(n) }

func appendLength(b []byte, num protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.BytesType), wire(int64(n)))
}

// wire is the varint of v: a negative number takes ten bytes.
func wire(v int64) uint64 {
	return uint64(v) //nolint:gosec // two's complement is meant
}
