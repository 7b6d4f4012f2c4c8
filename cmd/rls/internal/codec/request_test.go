package codec_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

func TestReuse(t *testing.T) {
	t.Parallel()
	var messages []string
	for _, c := range captures(t) {
		messages = append(messages, string(c.wire))
	}
	for _, c := range wireCases() {
		messages = append(messages, c.wire)
	}
	for _, c := range badCases() {
		messages = append(messages, c.wire)
	}
	var reused codec.Request
	for i, first := range messages {
		second := messages[len(messages)-1-i]
		for _, wire := range []string{first, second} {
			var fresh codec.Request
			decode(t, &fresh, []byte(wire))
			decode(t, &reused, []byte(wire))
			if (fresh.Err == nil) != (reused.Err == nil) {
				t.Fatalf("%q: Err = %v, want %v", wire, reused.Err, fresh.Err)
			}
			fresh.Err, reused.Err = nil, nil
			if d := diff(fresh, reused); d != "" {
				t.Fatalf("%q: -want +got\n%s", wire, d)
			}
		}
	}
}

func TestResetDropsStrings(t *testing.T) {
	t.Parallel()
	var q codec.Request
	decode(t, &q, []byte("\x0a\x04edge\x12\x0c\x0a\x06\x0a\x01k\x12\x01v\x12\x02\x10\x02\x00"))
	if len(q.Descriptors) != 1 || q.Err == nil {
		t.Fatalf("%d descriptors, Err = %v; want 1 and an error", len(q.Descriptors), q.Err)
	}
	q.Reset()
	if d := diff(codec.Request{}, q); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	kept := q.Descriptors[:1][0]
	kept.Entries = kept.Entries[:1]
	if d := diff(one(codec.Descriptor{Entries: make([]codec.Entry, 1)}), one(kept)); d != "" {
		t.Errorf("kept memory: -want +got\n%s", d)
	}
}

func TestResetKeepsUsualCapacity(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		descriptors, entries int
		wantDescriptors      bool
		wantEntries          bool
	}{
		{"usual", 3, 4, true, true},
		{"large", 30, 30, true, true},
		{"many descriptors", 129, 1, false, false},
		{"many entries", 1, 129, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entries := strings.Repeat("\x0a\x00", tt.entries)
			descriptor := "\x12" + varint(len(entries)) + entries
			var q codec.Request
			decode(t, &q, []byte(strings.Repeat(descriptor, tt.descriptors)))
			q.Reset()
			if got := cap(q.Descriptors) > 0; got != tt.wantDescriptors {
				t.Errorf("descriptors kept = %t, want %t", got, tt.wantDescriptors)
			}
			got := cap(q.Descriptors) > 0 && cap(q.Descriptors[:1][0].Entries) > 0
			if got != tt.wantEntries {
				t.Errorf("entries kept = %t, want %t", got, tt.wantEntries)
			}
		})
	}
}

func varint(n int) string { return string(protowire.AppendVarint(nil, uint64(n))) }
