package feedback

import (
	"strconv"
	"strings"
	"testing"
	"time"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// FuzzAccessLog wants of any bytes that the samples are those which the standard
// decoder's entries give, where it accepts the bytes, and never a panic.
func FuzzAccessLog(f *testing.F) {
	m := captured(f)
	for _, e := range m.GetHttpLogs().GetLogEntry() {
		about(e, "a,b")
	}
	f.Add(encoded(f, m), int64(0))
	for _, e := range m.GetHttpLogs().GetLogEntry() {
		e.CommonProperties.CustomTags[targetsKey] = "b"
		f.Add(encoded(f, message("", e)), int64(time.Hour))
	}
	for _, wire := range mergedCases(f) {
		f.Add([]byte(wire), int64(-1))
	}
	f.Fuzz(func(t *testing.T, wire []byte, at int64) {
		w := newWorld(t, "a", "b")
		w.wait(time.Duration(at % int64(1000*time.Hour)))
		s := w.stream("x")
		s.Decode(wire)
		var m alspb.StreamAccessLogsMessage
		if proto.Unmarshal(wire, &m) == nil && m.GetTcpLogs() == nil {
			againstStandard(t, s.accessLog, &m)
		}
		total := uint64(len(s.samples))
		s.book()
		w.wait(10 * time.Second)
		for _, target := range w.Targets() {
			for _, o := range w.Take(target) {
				if len(o.Reporter) > 2*maxName || o.Row.Latency.Count() > o.Row.OK+o.Row.Errors || w.now.Sub(o.End) < 9*time.Second || w.now.Sub(o.Start) > 16*time.Second {
					t.Errorf("%+v at %v", o, w.now)
				}
				total -= o.Row.OK + o.Row.Errors
			}
		}
		if total != 0 {
			t.Errorf("%d samples are lost", total)
		}
	})
}

// mergedCases say something twice; the later counts, or both are merged.
func mergedCases(tb testing.TB) []string {
	tb.Helper()
	one := string(encoded(tb, about(made(200, 1, 41, 50, &accesslogpb.ResponseFlags{RateLimited: true}), "a")))
	common := func(number protowire.Number, field string) string { return part(1, part(number, field)) }
	metadata := func(fields string) string { return common(17, part(1, part(1, targetsNamespace)+part(2, fields))) }
	b := part(2, part(3, "b"))
	grpc := func(number protowire.Number, status string) string {
		return part(4, part(number, part(1, statusKey)+status))
	}
	var cases []string
	for _, also := range []string{
		common(16, "\x60\x00"),                                    // no longer rate_limited
		common(16, "\x60\x00") + common(16, "\x18\x01"),           // but timed out
		common(16, "\x60\x00") + common(8, "\x10\x07"),            // sent 7 ns later
		common(16, "\x60\x00") + part(4, part(1, "\x08\xf7\x03")), // 503
		common(16, "\x60\x00") + grpc(4, part(2, "14")),           // UNAVAILABLE
		common(16, "\x60\x00") + grpc(5, part(2, "13")) + grpc(4, part(2, "14")),
		common(16, "\x60\x00") + grpc(5, part(2, "13")) + grpc(5, ""), // INTERNAL, and then nothing
		common(16, "\x60\x00") + grpc(5, part(2, "13x")),
		common(16, "\x60\x00") + part(4, part(1, "\x08\xf7\x03")+part(4, part(1, limitedKey))),
		common(16, "\x60\x00") + grpc(4, part(2, "8")),
		common(16, "\x60\x00") + metadata(""), // other metadata, without targets
		common(16, "\x60\x00") + metadata(part(1, part(1, targetsKey)+b)),
		common(16, "\x60\x00") + metadata(part(1, b+part(1, targetsKey))),                              // the value first
		common(16, "\x60\x00") + metadata(part(1, part(1, targetsKey)+b+part(2, "\x20\x01"))),          // a boolean in its place
		common(16, "\x60\x00") + metadata(part(1, part(1, targetsKey)+b)+part(1, part(1, targetsKey))), // nothing in its place
		common(16, "\x60\x00") + metadata("") + common(22, part(1, targetsKey)+part(2, "b")),
		common(16, "\x60\x00") + metadata("") + common(22, part(1, targetsKey)+part(2, "b")) + common(22, part(1, targetsKey)),
	} {
		cases = append(cases, part(2, part(1, one+also)))
	}
	return cases
}

// againstStandard compares with what the generated message holds.
func againstStandard(t *testing.T, l *accessLog, m *alspb.StreamAccessLogsMessage) {
	t.Helper()
	var want []sample
	for _, e := range m.GetHttpLogs().GetLogEntry() {
		s, skip := standard(e).judge()
		seen := map[string]bool{"": true}
		for name := range strings.SplitSeq(string(standard(e).names()), ",") {
			if name = strings.TrimSpace(name); skip == notSkipped && (name == "a" || name == "b") && !seen[name] {
				want = append(want, s)
				seen[name] = true
			}
		}
	}
	if len(want) != len(l.samples) {
		t.Fatalf("%d samples, want %d", len(l.samples), len(want))
	}
	for i, s := range want {
		if l.samples[i].sample != s {
			t.Errorf("sample %d: %+v, want %+v", i, l.samples[i].sample, s)
		}
	}
}

// standard is an entry as the standard decoder has it.
func standard(m *accesslogpb.HTTPAccessLogEntry) *entry {
	c := m.GetCommonProperties()
	of := func(d *durationpb.Duration) span { return span{d.GetSeconds(), int64(d.GetNanos()), d != nil} }
	e := &entry{
		start: span{c.GetStartTime().GetSeconds(), int64(c.GetStartTime().GetNanos()), c.GetStartTime() != nil},
		sent:  of(c.GetTimeToLastUpstreamTxByte()), answered: of(c.GetTimeToFirstUpstreamRxByte()),
		delivered: of(c.GetTimeToLastDownstreamTxByte()), duration: of(c.GetDuration()),
		code: m.GetResponse().GetResponseCode().GetValue(), kind: uint32(c.GetAccessLogType()),
		partial: c.GetIntermediateLogEntry(), //nolint:staticcheck // what old Envoys say
		targets: []byte(c.GetMetadata().GetFilterMetadata()[targetsNamespace].GetFields()[targetsKey].GetStringValue()),
		tag:     []byte(c.GetCustomTags()[targetsKey]),
		header:  numbered(m.GetResponse().GetResponseHeaders()[statusKey]),
		trailer: numbered(m.GetResponse().GetResponseTrailers()[statusKey]),
	}
	for _, fields := range []map[string]string{m.GetResponse().GetResponseHeaders(), m.GetResponse().GetResponseTrailers()} {
		if _, limited := fields[limitedKey]; limited {
			e.limited = true
		}
	}
	flags := c.GetResponseFlags().ProtoReflect()
	fields := flags.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() == nil && flags.Get(f).Bool() {
			e.flags |= 1 << f.Number()
		}
	}
	return e
}

func numbered(status string) codes.Code {
	n, _ := strconv.ParseUint(status, 10, 32)
	return codes.Code(n)
}

// FuzzReport wants of any report that it is refused, or books what can be reckoned
// with, and never a panic.
func FuzzReport(f *testing.F) {
	for _, r := range []*feedbackv1.Report{
		{Target: "a", Reporter: "x", Ok: 3, Latency: quantiles(time.Millisecond, time.Second)},
		{Target: "a", Reporter: "x", Sequence: 7, WindowStart: since(-time.Second), WindowEnd: since(time.Second), Started: 3, Ok: 3, Errors: 1, InFlight: 4, Latency: histogram(0, 1, 768, 3)},
		{Target: "b", Reporter: "x", WindowEnd: since(-11 * time.Second)},
	} {
		f.Add(encoded(f, r), "")
		f.Add(encoded(f, r), "spiffe://mesh/app")
	}
	f.Fuzz(func(t *testing.T, wire []byte, identity string) {
		var m feedbackv1.Report
		if proto.Unmarshal(wire, &m) != nil {
			return
		}
		w := newWorld(t, "a", m.GetTarget())
		r, err := check(&m, who{identity: identity}, w.now)
		if err != nil {
			if r != nil {
				t.Errorf("%+v beside %v", r, err)
			}
			return
		}
		outcome := w.add(r)
		if again := w.add(r); again == Accepted {
			t.Errorf("%v, and accepted once more", outcome)
		}
		for _, o := range w.Take(m.GetTarget()) {
			ended := o.Row.OK + o.Row.Errors
			if o.Row.Latency.Count() > ended || ended > 2*maxCount || o.End.After(w.now) || !o.Start.Before(o.End) || o.End.Sub(o.Start) > maxWindow || !strings.HasPrefix(o.Reporter, (who{identity: identity}).origin()+"\x00") {
				t.Errorf("%+v", o)
			}
		}
	})
}
