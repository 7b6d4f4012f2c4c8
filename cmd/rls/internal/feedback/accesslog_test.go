package feedback

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
)

// message is one of an access log; an id makes it the first of its stream.
func message(id string, entries ...*accesslogpb.HTTPAccessLogEntry) *alspb.StreamAccessLogsMessage {
	m := &alspb.StreamAccessLogsMessage{LogEntries: &alspb.StreamAccessLogsMessage_HttpLogs{
		HttpLogs: &alspb.StreamAccessLogsMessage_HTTPAccessLogEntries{LogEntry: entries},
	}}
	if id != "" {
		m.Identifier = &alspb.StreamAccessLogsMessage_Identifier{Node: &corepb.Node{Id: id}}
	}
	return m
}

// about names the targets in what rls wrote into its answer.
func about(m *accesslogpb.HTTPAccessLogEntry, targets string) *accesslogpb.HTTPAccessLogEntry {
	m.CommonProperties.Metadata = &corepb.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"envoy.filters.http.ratelimit": {Fields: map[string]*structpb.Value{"rls.rule": structpb.NewStringValue("x"), "rls.targets": structpb.NewStringValue(targets)}},
		"other":                        {Fields: map[string]*structpb.Value{"rls.targets": structpb.NewStringValue("b")}},
	}}
	return m
}

// TestAttribution: by what rls wrote, else by the tag that the operator set.
func TestAttribution(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		targets string // "" is no metadata
		tag     string
		a, b    uint64
		skip    Skip
	}{
		{"one", "a", "", 1, 0, notSkipped},
		{"two", "a,b", "", 1, 1, notSkipped},
		{"twice", "a, a ,a", "", 1, 0, notSkipped},
		{"one that is known", "x,b,,y", "", 0, 1, notSkipped},
		{"none that is known", "x,y", "", 0, 0, SkipUnknownTarget},
		{"tag", "", "b", 0, 1, notSkipped},
		{"both", "a", "b", 1, 0, notSkipped},
		{"neither", "", "", 0, 0, SkipUnattributed},
		{"not among the first ones known", strings.Repeat("x,", 1000) + "a", "", 1, 0, notSkipped},
	} {
		w := newWorld(t, "a", "b")
		m := made(200, 1, 41, 41, nil)
		if row.targets != "" {
			about(m, row.targets)
		}
		if row.tag != "" {
			m.CommonProperties.CustomTags = map[string]string{"rls.targets": row.tag, "rls.service": "a"}
		}
		w.stream("x").send(tenth, message("", m))
		w.now = epoch().Add(2 * time.Second)
		got := map[string]uint64{}
		for _, target := range []string{"a", "b"} {
			for _, o := range w.Take(target) {
				got[target] += o.Row.OK
			}
		}
		if got["a"] != row.a || got["b"] != row.b {
			t.Errorf("%s: %v, want a: %d, b: %d", row.name, got, row.a, row.b)
		}
		if row.skip != notSkipped && w.Stats().Skipped[row.skip] != 1 {
			t.Errorf("%s: %v, want one skipped as %v", row.name, w.Stats(), row.skip)
		}
	}
}

// TestManyTargets: one entry counts for so many, and no more.
func TestManyTargets(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range maxTargets + 1 {
		names = append(names, strconv.Itoa(i))
	}
	w := newWorld(t, names...)
	w.stream("x").send(tenth, message("", about(endedAt(0), strings.Join(names, ","))))
	w.now = epoch().Add(2 * time.Second)
	if n, more := len(w.Take("31")), len(w.Take("32")); n != 1 || more != 0 {
		t.Errorf("%d and %d, want 1 and 0", n, more)
	}
}

// part is a field of a message that holds bytes.
func part(number protowire.Number, b string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), b))
}

// TestMalformed: what cannot be read loses no more than it must.
func TestMalformed(t *testing.T) {
	t.Parallel()
	good := endedAt(tenth)
	odd := endedAt(tenth)
	odd.CommonProperties.CustomTags = map[string]string{"tenant": "TENANT"}
	odd.CommonProperties.UpstreamTransportFailureReason = "TENANT"
	wire := encoded(t, message("NODE", good, odd, good))
	for _, row := range []struct {
		name      string
		wire      string
		samples   int
		malformed uint64
	}{
		{"text that is not UTF-8", strings.ReplaceAll(string(wire), "TENANT", "\xff\xfe\x80\x00\xc3("), 3, 0},
		{"node that is not UTF-8", strings.ReplaceAll(string(wire), "NODE", "\xffODE"), 3, 0},
		{"an entry", string(encoded(t, message("", good))) + "\x12\x04\x0a\x02\x0a\xff" + string(encoded(t, message("", good))), 2, 1},
		{"an entry, at its end", string(encoded(t, message("", good))) + part(2, part(1, string(encoded(t, odd))+"\xff")), 1, 1},
		{"an entry, in its headers", part(2, part(1, string(encoded(t, good))+part(4, part(4, "\xff")))+part(1, string(encoded(t, good)))), 1, 1},
		{"an entry, in its trailers", part(2, part(1, string(encoded(t, good))+part(4, part(5, "\xff")))+part(1, string(encoded(t, good)))), 1, 1},
		{"the rest", string(wire) + "\xff", 3, 1},
		{"cut off", string(wire[:len(wire)-1]), 0, 1},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", 0, 1},
		{"nothing", "", 0, 0},
	} {
		w := newWorld(t, "a")
		s := w.stream("x")
		s.Decode([]byte(row.wire))
		if got := w.Stats().Skipped[SkipMalformed]; len(s.samples) != row.samples || got != row.malformed {
			t.Errorf("%s: %d samples and %d malformed, want %d and %d", row.name, len(s.samples), got, row.samples, row.malformed)
		}
		s.book()
		w.wait(10 * time.Second)
		for _, o := range w.Take("a") {
			if !slices.Contains([]string{"socket\x00", "socket\x00NODE", "socket\x00\uFFFDODE"}, o.Reporter) {
				t.Errorf("%s: reporter %q", row.name, o.Reporter)
			}
		}
	}
}

// TestStranger: names that no rule has are those of one message alone.
func TestStranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("x")
	for _, row := range []struct{ targets, want string }{{"a", ""}, {"b,c", "b,c"}, {"a,b", ""}} {
		s.Decode(encoded(t, message("", about(endedAt(tenth), row.targets))))
		if s.stranger != row.want {
			t.Errorf("of %s: %q, want %q", row.targets, s.stranger, row.want)
		}
		s.book()
	}
}

// TestLogCounts: every entry is counted, and every one that is left out by why.
func TestLogCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := w.stream("x")
	s.send(tenth, message("", endedAt(0), about(made(429, none, none, 1, &accesslogpb.ResponseFlags{RateLimited: true}), "a"), made(200, 1, 2, 3, nil)))
	s.send(tenth, &alspb.StreamAccessLogsMessage{LogEntries: &alspb.StreamAccessLogsMessage_TcpLogs{
		TcpLogs: &alspb.StreamAccessLogsMessage_TCPAccessLogEntries{},
	}})
	for i := range maxReporters {
		w.add(w.told(strconv.Itoa(i), 0, 0, time.Second))
	}
	w.stream("x").send(tenth, message("one too many", endedAt(0), endedAt(tenth)))
	want := Stats{Entries: 6}
	want.Skipped[SkipDenied], want.Skipped[SkipUnattributed], want.Skipped[SkipTCP], want.Skipped[SkipFull] = 1, 1, 1, 2
	if diff := cmp.Diff(want, w.Stats()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLogAndReports of one name add up, and what was started is then unknown.
func TestLogAndReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	from := who{address: "192.0.2.1:5"}
	w.streamOf(from).send(tenth, message("x", endedAt(tenth)))
	w.wait(2 * time.Second)
	r := w.told("x", 1, 0, time.Second)
	r.reporter = from.agent("x")
	w.add(r)
	w.want("a", seen{"x", 0, 21 * tenth, 0, 2, 1, false, map[int]uint64{100: 2, bucketOf(40 * time.Millisecond): 1}})
}
