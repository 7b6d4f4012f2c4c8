package codec_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// FuzzRequest wants of any bytes, in two pieces, what the standard decoder
// makes of them, but for strings that are not UTF-8.
func FuzzRequest(f *testing.F) {
	for i, c := range captures(f) {
		f.Add(c.wire, uint16(i))
	}
	for _, c := range wireCases() {
		f.Add([]byte(c.wire), uint16(1))
	}
	for _, c := range badCases() {
		f.Add([]byte(c.wire), uint16(2))
	}
	ref := newReference(f)
	f.Fuzz(func(t *testing.T, wire []byte, cut uint16) {
		at := min(int(cut), len(wire))
		var got codec.Request
		decode(t, &got, wire[:at], wire[at:])
		want, wantErr := ref.decode(wire)
		if got.Err != nil && len(wire) > 2*codec.MaxDescriptors && strings.Contains(got.Err.Error(), "more than") {
			return // a bound of ours
		}
		if (wantErr == nil) != (got.Err == nil) {
			t.Fatalf("Err = %v, want %v", got.Err, wantErr)
		}
		if wantErr == nil {
			if d := diff(want, got); d != "" {
				t.Fatalf("-want +got\n%s", d)
			}
		}
		againstGenerated(t, wire, got)
	})
}

// againstGenerated compares with the generated message that other services use.
func againstGenerated(t *testing.T, wire []byte, got codec.Request) {
	t.Helper()
	var m rlspb.RateLimitRequest
	err := proto.Unmarshal(wire, &m)
	switch {
	case err == nil:
		if d := diff(requestOf(m.ProtoReflect()), got); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	case got.Err == nil && utf8.Valid(wire):
		t.Errorf("accepted what is refused for another reason than UTF-8: %v", err)
	}
}

// FuzzResponse wants that the standard decoder reads the answer that was meant.
func FuzzResponse(f *testing.F) {
	f.Add(uint8(0), int32(1), uint32(0), int64(0), "", "", []byte(nil))
	f.Add(uint8(255), int32(2), uint32(3), int64(1_500_000_000), "per-min", "a\xffb", []byte("slow down"))
	f.Add(uint8(85), int32(-1), uint32(1<<32-1), int64(-1_500_000_000), "x-\xc3", "", []byte{0})
	f.Add(uint8(170), int32(7), uint32(1), int64(-1), "\xff\xfe", "é", make([]byte, 300))
	f.Fuzz(func(t *testing.T, shape uint8, unit int32, n uint32, reset int64, key, value string, body []byte) {
		bit := func(i int) bool { return shape>>i&1 == 1 }
		r := codec.Response{Code: codec.OK, RawBody: body}
		if bit(0) {
			r.Code = codec.OverLimit
		}
		if bit(1) {
			r.ResponseHeaders = []codec.Header{{Key: key, Value: value}, {Key: value}}
		}
		if bit(2) {
			r.RequestHeaders = []codec.Header{{}, {Key: value, Value: key}}
		}
		if bit(3) {
			r.DynamicMetadata = []codec.StringField{{Key: "a" + key, Value: value}, {Key: "b", Value: key}}
		}
		for i := range shape >> 6 {
			r.Statuses = append(r.Statuses, codec.Status{
				Code: codec.Code(unit), Remaining: n >> i, HasLimit: bit(4), HasReset: bit(5),
				Reset: time.Duration(reset) / time.Duration(i+1),
				Limit: codec.Limit{Name: key, RequestsPerUnit: n, Unit: unit, UnitMultiplier: n >> i},
			})
		}
		roundTrip(t, &r)
	})
}
