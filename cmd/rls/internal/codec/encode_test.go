package codec_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

func encode(tb testing.TB, r *codec.Response) []byte {
	tb.Helper()
	out, err := codec.New().Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	b := out.Materialize()
	out.Free()
	return b
}

// roundTrip wants the bytes of the standard encoder, which writes a Struct's
// keys in order when it is deterministic: give the metadata in order too.
func roundTrip(tb testing.TB, r *codec.Response) {
	tb.Helper()
	wire := encode(tb, r)
	if size := codec.Size(r); size != len(wire) {
		tb.Errorf("size is %d, %d bytes were written", size, len(wire))
	}
	want := messageOf(r)
	var got rlspb.RateLimitResponse
	if err := proto.Unmarshal(wire, &got); err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(want, &got, protocmp.Transform()); d != "" {
		tb.Errorf("-want +got\n%s", d)
	}
	standard, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(standard, wire) {
		tb.Errorf("bytes are\n%x, want\n%x", wire, standard)
	}
}

// messageOf is the message that r stands for.
func messageOf(r *codec.Response) *rlspb.RateLimitResponse {
	m := &rlspb.RateLimitResponse{
		OverallCode:          rlspb.RateLimitResponse_Code(r.Code),
		ResponseHeadersToAdd: headersOf(r.ResponseHeaders),
		RequestHeadersToAdd:  headersOf(r.RequestHeaders),
		RawBody:              r.RawBody,
	}
	for _, s := range r.Statuses {
		m.Statuses = append(m.Statuses, statusOf(s))
	}
	if len(r.DynamicMetadata) > 0 {
		m.DynamicMetadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for _, f := range r.DynamicMetadata {
			m.DynamicMetadata.Fields[utf8Of(f.Key)] = structpb.NewStringValue(utf8Of(f.Value))
		}
	}
	return m
}

func statusOf(s codec.Status) *rlspb.RateLimitResponse_DescriptorStatus {
	m := &rlspb.RateLimitResponse_DescriptorStatus{
		Code: rlspb.RateLimitResponse_Code(s.Code), LimitRemaining: s.Remaining,
	}
	if s.HasReset {
		m.DurationUntilReset = durationpb.New(s.Reset)
	}
	if s.HasLimit {
		m.CurrentLimit = &rlspb.RateLimitResponse_RateLimit{
			Name:            utf8Of(s.Limit.Name),
			RequestsPerUnit: s.Limit.RequestsPerUnit,
			Unit:            rlspb.RateLimitResponse_RateLimit_Unit(s.Limit.Unit),
		}
		if s.Limit.UnitMultiplier != 0 {
			m.CurrentLimit.UnitMultiplier = wrapperspb.UInt32(s.Limit.UnitMultiplier)
		}
	}
	return m
}

func headersOf(hs []codec.Header) []*corepb.HeaderValue {
	var out []*corepb.HeaderValue
	for _, h := range hs {
		out = append(out, &corepb.HeaderValue{Key: utf8Of(h.Key), Value: utf8Of(h.Value)})
	}
	return out
}

func utf8Of(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func response() *codec.Response {
	limit := codec.Limit{Name: "per-min", RequestsPerUnit: 100, Unit: 2}
	return &codec.Response{
		Code: codec.OverLimit,
		Statuses: []codec.Status{
			{Code: codec.OK, HasLimit: true, Limit: limit, Remaining: 42, HasReset: true, Reset: 350 * time.Millisecond},
			{Code: codec.OverLimit, HasLimit: true, Limit: limit, HasReset: true, Reset: 17 * time.Second},
			{Code: codec.OK},
		},
		DynamicMetadata: []codec.StringField{{Key: "rls.delay_ms", Value: "350"}, {Key: "rls.rule", Value: "edge/per-min"}},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	body := func(n int) *codec.Response {
		return &codec.Response{Code: codec.OverLimit, RawBody: bytes.Repeat([]byte("x"), n)}
	}
	status := func(s codec.Status) *codec.Response {
		return &codec.Response{Code: codec.OK, Statuses: []codec.Status{s}}
	}
	headers := []codec.Header{{Key: "x-a", Value: "1"}, {Key: "x-b"}, {}}
	tests := []struct {
		name string
		in   *codec.Response
	}{
		{"least", &codec.Response{Code: codec.OK}},
		{"usual", response()},
		{"empty status", status(codec.Status{})},
		{"empty limit and reset", status(codec.Status{HasLimit: true, HasReset: true})},
		{"parts that are not present", status(codec.Status{Reset: time.Hour, Limit: codec.Limit{Name: "n", UnitMultiplier: 2}})},
		{"multiplier", status(codec.Status{HasLimit: true, Limit: codec.Limit{Unit: 7, UnitMultiplier: 300}})},
		{"greatest numbers", status(codec.Status{Code: 9, Remaining: 1<<32 - 1, HasLimit: true, Limit: codec.Limit{RequestsPerUnit: 1<<32 - 1, Unit: -1, UnitMultiplier: 1<<32 - 1}})},
		{"longest reset", status(codec.Status{HasReset: true, Reset: 1<<63 - 1})},
		{"negative reset", status(codec.Status{HasReset: true, Reset: -1500 * time.Millisecond})},
		{"response headers", &codec.Response{Code: codec.OK, ResponseHeaders: headers}},
		{"request headers", &codec.Response{Code: codec.OK, RequestHeaders: headers}},
		{"empty metadata", &codec.Response{Code: codec.OK, DynamicMetadata: []codec.StringField{{}}}},
		{"long name", status(codec.Status{HasLimit: true, Limit: codec.Limit{Name: strings.Repeat("n", 200)}})},
		{"largest small answer", body(235)},
		{"smallest larger answer", body(236)},
		{"largest answer without a pool", body(1019)},
		{"smallest pooled answer", body(1020)},
		{"large answer", body(20_000)},
		{"not UTF-8", &codec.Response{
			Code:            codec.OK,
			Statuses:        []codec.Status{{HasLimit: true, Limit: codec.Limit{Name: "a\xff\xfeb"}}},
			ResponseHeaders: []codec.Header{{Key: "\xff", Value: "\xc3"}},
			DynamicMetadata: []codec.StringField{{Key: "k\xff", Value: "\xff\xff"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, tt.in)
		})
	}
}

func TestOneReplacementForARun(t *testing.T) {
	t.Parallel()
	r := codec.Response{Code: codec.OK, RequestHeaders: []codec.Header{{Key: "a\xff\xfe\xfdb"}}}
	want := "\x08\x01\x22\x07\x0a\x05a\uFFFDb"
	if d := cmp.Diff(want, string(encode(t, &r))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestCodeIsAVerdict(t *testing.T) {
	t.Parallel()
	for _, code := range []codec.Code{-1, 0, 3} {
		out, err := codec.New().Marshal(&codec.Response{Code: code})
		if err == nil || out != nil {
			t.Errorf("code %d: Marshal = %v, %v; want an error", code, out, err)
		}
	}
}
