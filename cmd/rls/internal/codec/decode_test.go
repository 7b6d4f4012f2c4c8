package codec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/mem"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// decode gives the codec the pieces of one message.
func decode(tb testing.TB, q *codec.Request, pieces ...[]byte) {
	tb.Helper()
	var data mem.BufferSlice
	for _, p := range pieces {
		data = append(data, mem.SliceBuffer(p))
	}
	if err := codec.New().Unmarshal(data, q); err != nil {
		tb.Fatalf("Unmarshal = %v, want the error in the request", err)
	}
}

func diff(want, got codec.Request) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateErrors())
}

func TestCaptures(t *testing.T) {
	t.Parallel()
	ref := newReference(t)
	all := captures(t)
	if len(all) != 38 {
		t.Errorf("%d requests in testdata, want 38", len(all))
	}
	for _, c := range all {
		want, err := ref.decode(c.wire)
		if c.want != nil {
			want = requestOf(c.want.ProtoReflect())
		}
		var got codec.Request
		decode(t, &got, c.wire)
		if d := diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, err, d)
		}
	}
}

func TestNotUTF8(t *testing.T) {
	t.Parallel()
	var got codec.Request
	decode(t, &got, []byte("\x0a\x02d\xff"+"\x12\x0b\x0a\x09\x0a\x02\xc3k\x12\x03a\xffb"))
	want := codec.Request{
		Domain:      "d\xff",
		Descriptors: []codec.Descriptor{{Entries: []codec.Entry{{Key: "\xc3k", Value: "a\xffb"}}}},
	}
	if d := diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func one(d codec.Descriptor) codec.Request {
	return codec.Request{Descriptors: []codec.Descriptor{d}}
}

type wireCase struct {
	name string
	wire string
	want codec.Request
}

// wireCases are well-formed messages that Envoy does not send but may.
func wireCases() []wireCase {
	return []wireCase{
		{"empty", "", codec.Request{}},
		{"last scalar wins", "\x0a\x01a\x18\x05\x0a\x01b\x18\x06", codec.Request{Domain: "b", HitsAddend: 6}},
		{"tag of three bytes", "\x98\x80\x00\x07", codec.Request{HitsAddend: 7}},
		{"ten-byte varint drops the high bits", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", codec.Request{HitsAddend: 1<<32 - 1}},
		{"unknown varint, fixed64, bytes, fixed32", "\x78\x01\x7912345678\x7a\x02hi\x7d1234\x18\x02", codec.Request{HitsAddend: 2}},
		{"unknown groups", "\x7b\x0a\x01x\x83\x01\x84\x01\x7c\x18\x02", codec.Request{HitsAddend: 2}},
		{"known number as group", "\x0b\x18\x09\x0c\x18\x02", codec.Request{HitsAddend: 2}},
		{"wrong wire types are unknown fields", "\x08\x01\x10\x01\x1a\x01\x05\x1d1234", codec.Request{}},
		{"greatest field number", "\xf8\xff\xff\xff\x0f\x01", codec.Request{}},
		{"empty descriptors", "\x12\x00\x12\x00", codec.Request{Descriptors: make([]codec.Descriptor, 2)}},
		{"empty entry", "\x12\x02\x0a\x00", one(codec.Descriptor{Entries: make([]codec.Entry, 1)})},
		{"unknown fields inside", "\x12\x0d\x7a\x01x\x0a\x08\x0a\x01k\x7a\x00\x12\x01v", one(codec.Descriptor{Entries: []codec.Entry{{Key: "k", Value: "v"}}})},
		{"wrong wire types inside", "\x12\x0a\x08\x01\x10\x01\x18\x01\x22\x00\x0a\x00", one(codec.Descriptor{Entries: make([]codec.Entry, 1)})},
		{"empty wrapper is a look", "\x12\x02\x1a\x00", one(codec.Descriptor{HasHitsAddend: true})},
		{"wrapper keeps an earlier value", "\x12\x0a\x1a\x02\x08\x05\x1a\x02\x10\x07\x1a\x00", one(codec.Descriptor{HitsAddend: 5, HasHitsAddend: true})},
		{"hits of 64 bits", "\x12\x0d\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", one(codec.Descriptor{HitsAddend: 1<<64 - 1, HasHitsAddend: true})},
		{"bool is any bit", "\x12\x03\x20\x80\x01", one(codec.Descriptor{Negative: true})},
		{"bool taken back", "\x12\x04\x20\x01\x20\x00", one(codec.Descriptor{})},
		{"unknown field in a limit", "\x12\x07\x12\x05\x7a\x01x\x08\x05", one(codec.Descriptor{HasLimit: true, Limit: codec.Override{RequestsPerUnit: 5}})},
		{"empty limit blocks", "\x12\x02\x12\x00", one(codec.Descriptor{HasLimit: true})},
		{
			"limit merged", "\x12\x10\x12\x06\x08\x05\x1a\x02\x08\x03\x12\x06\x10\x02\x1a\x02\x10\x01",
			one(codec.Descriptor{HasLimit: true, Limit: codec.Override{RequestsPerUnit: 5, Unit: 2, UnitMultiplier: 3, HasUnitMultiplier: true}}),
		},
		{
			"unknown and negative units", "\x12\x04\x12\x02\x10\x63\x12\x0d\x12\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			codec.Request{Descriptors: []codec.Descriptor{
				{HasLimit: true, Limit: codec.Override{Unit: 99}},
				{HasLimit: true, Limit: codec.Override{Unit: -1}},
			}},
		},
		{
			"multiplier of 64 bits drops the high ones", "\x12\x0a\x12\x08\x1a\x06\x08\x81\x80\x80\x80\x10",
			one(codec.Descriptor{HasLimit: true, Limit: codec.Override{UnitMultiplier: 1, HasUnitMultiplier: true}}),
		},
	}
}

func TestWireForms(t *testing.T) {
	t.Parallel()
	ref := newReference(t)
	for _, tt := range wireCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got codec.Request
			decode(t, &got, []byte(tt.wire))
			if d := diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if _, err := ref.decode([]byte(tt.wire)); err != nil {
				t.Errorf("the standard decoder refuses it: %v", err)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	for _, c := range captures(t) {
		var whole codec.Request
		decode(t, &whole, c.wire)
		for _, cut := range []int{0, 1, len(c.wire) / 2, len(c.wire)} {
			var got codec.Request
			decode(t, &got, c.wire[:cut], nil, c.wire[cut:])
			if d := diff(whole, got); d != "" {
				t.Errorf("%s cut at %d: -want +got\n%s", c.name, cut, d)
			}
		}
	}
}

func TestStringsOutliveTheBuffer(t *testing.T) {
	t.Parallel()
	wire := []byte("\x0a\x04edge\x12\x08\x0a\x06\x0a\x01k\x12\x01v")
	var got codec.Request
	decode(t, &got, wire[:3], wire[3:])
	decodedWhole := codec.Request{}
	decode(t, &decodedWhole, wire)
	clear(wire)
	want := codec.Request{Domain: "edge", Descriptors: []codec.Descriptor{{Entries: []codec.Entry{{Key: "k", Value: "v"}}}}}
	for _, q := range []codec.Request{got, decodedWhole} {
		if d := diff(want, q); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
}
