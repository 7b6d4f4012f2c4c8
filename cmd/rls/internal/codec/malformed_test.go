package codec_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

type badCase struct {
	name string
	wire string
	at   int    // the byte that Err names
	want string // how Err ends
}

func badCases() []badCase {
	const truncated = "unexpected EOF"
	return []badCase{
		{"half a tag", "\x18\x01\x98", 2, truncated},
		{"no value", "\x18", 1, truncated},
		{"half a varint", "\x18\x80", 1, truncated},
		{"short string", "\x0a\x05edge", 1, truncated},
		{"string longer than its message", "\x12\x04\x0a\x02\x0a\x01kk", 5, truncated},
		{"varint longer than its message", "\x12\x02\x20\x81\x01", 3, truncated},
		{"unknown field longer than its message", "\x12\x02\x78\x81\x01", 3, truncated},
		{"descriptor longer than the message", "\x12\x09\x0a\x00", 1, truncated},
		{"length of 64 bits", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1, truncated},
		{"varint of eleven bytes", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1, "variable length integer overflow"},
		{"varint above 64 bits", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 1, "variable length integer overflow"},
		{"field number 0", "\x00\x01", 1, "invalid field number"},
		{"field number 2^29", "\x80\x80\x80\x80\x10\x01", 5, "invalid field number"},
		{"field number 0 inside", "\x12\x02\x02\x00", 3, "invalid field number"},
		{"wire type 6", "\x0e\x00", 1, "cannot parse reserved wire type"},
		{"wire type 7 inside", "\x12\x02\x0f\x00", 3, "cannot parse reserved wire type"},
		{"end of no group", "\x0c", 1, "mismatching end group marker"},
		{"end of another group", "\x7b\x84\x01", 1, "mismatching end group marker"},
		{"group without end", "\x7b\x08\x01", 1, truncated},
		{"short limit", "\x12\x03\x12\x05\x08", 3, truncated},
		{"short wrapper", "\x12\x03\x1a\x01\x08", 5, truncated},
		{"a fault, then good fields", "\x00\x0a\x01a", 1, "invalid field number"},
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	ref := newReference(t)
	for _, tt := range badCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got codec.Request
			decode(t, &got, []byte(tt.wire))
			if got.Err == nil {
				t.Fatal("Err is nil")
			}
			start := fmt.Sprintf("decoding RateLimitRequest: byte %d: ", tt.at)
			if text := got.Err.Error(); !strings.HasPrefix(text, start) || !strings.HasSuffix(text, tt.want) {
				t.Errorf("Err = %q, want %q ... %q", text, start, tt.want)
			}
			if _, err := ref.decode([]byte(tt.wire)); err == nil {
				t.Error("the standard decoder accepts it")
			}
		})
	}
}

func TestNestedGroups(t *testing.T) {
	t.Parallel()
	ref := newReference(t)
	tests := []struct {
		name  string
		depth int
		ok    bool
	}{
		{"deepest", 10_001, true},
		{"too deep", 10_002, false},
	}
	for _, tt := range tests {
		var got codec.Request
		wire := []byte(strings.Repeat("\x7b", tt.depth) + strings.Repeat("\x7c", tt.depth))
		decode(t, &got, wire)
		if ok := got.Err == nil; ok != tt.ok {
			t.Errorf("%s: Err = %v, accepted should be %t", tt.name, got.Err, tt.ok)
		}
		if _, err := ref.decode(wire); (err == nil) != tt.ok {
			t.Errorf("%s: the standard decoder says %v", tt.name, err)
		}
	}
}

func TestMalformedIsInspectable(t *testing.T) {
	t.Parallel()
	var got codec.Request
	decode(t, &got, []byte("\x18"))
	if !errors.Is(got.Err, io.ErrUnexpectedEOF) {
		t.Errorf("Err = %v, want io.ErrUnexpectedEOF inside", got.Err)
	}
}
