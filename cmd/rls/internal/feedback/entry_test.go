package feedback

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	accesslogpb "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// captured is a message that Envoy 1.40 sent.
func captured(tb testing.TB) *alspb.StreamAccessLogsMessage {
	tb.Helper()
	text, err := os.ReadFile("testdata/als-01-batch.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Calls []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		tb.Fatal(err)
	}
	m := &alspb.StreamAccessLogsMessage{}
	if err := protojson.Unmarshal(file.Calls[0].Message, m); err != nil {
		tb.Fatal(err)
	}
	return m
}

func encoded(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// decoded is an entry of the log that names a target by its configuration.
func decoded(tb testing.TB, m *accesslogpb.HTTPAccessLogEntry) *entry {
	tb.Helper()
	var e entry
	if !e.decode(encoded(tb, m)) {
		tb.Fatal("not decoded")
	}
	if e.tag == nil {
		e.tag = []byte("search")
	}
	return &e
}

// TestCaptured: what each entry of a real batch says.
func TestCaptured(t *testing.T) {
	t.Parallel()
	const none = time.Duration(-1)
	want := []struct {
		name    string
		skip    Skip
		failed  bool
		latency time.Duration
		ended   time.Duration // since start
		total   time.Duration // of the whole
	}{
		{"ok", notSkipped, false, 60536690, 61983458, 62202705},
		{"upstream 503", notSkipped, true, 20468689, 21307460, 21447038},
		{"denied", SkipDenied, false, none, 0, 0},
		{"rls had timed out", notSkipped, false, 5423820, 257066121, 257140001},
		{"upstream timeout", notSkipped, true, 300884942, 301687549, 301687549},
		{"refused", notSkipped, true, none, 333517, 333517},
		{"client gone", SkipClientGone, false, none, 0, 0},
		{"at once", notSkipped, false, 284555, 544202, 626254},
		{"at once", notSkipped, false, 253498, 346226, 526105},
		{"at once", notSkipped, false, 233949, 355210, 405054},
	}
	entries := captured(t).GetHttpLogs().GetLogEntry()
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d", len(entries), len(want))
	}
	for i, m := range entries {
		w := want[i]
		got, skip := decoded(t, m).judge()
		if skip != w.skip {
			t.Errorf("%s: skipped as %q, want %q", w.name, skip, w.skip)
		}
		if skip != notSkipped {
			continue
		}
		start := m.GetCommonProperties().GetStartTime().AsTime().UnixNano()
		wanted := sample{ended: start + int64(w.ended), logged: start + int64(w.total), timed: true, failed: w.failed}
		if w.latency != none {
			wanted.latency, wanted.bucket = true, bucketOf(w.latency)
		}
		if got != wanted {
			t.Errorf("%s: %+v, want %+v", w.name, got, wanted)
		}
	}
}
