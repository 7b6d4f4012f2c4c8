package codec_test

import (
	"strings"
	"testing"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// TestBounds: a message of many tiny parts is refused before it takes the memory
// of many large ones.
func TestBounds(t *testing.T) {
	t.Parallel()
	const descriptor, descriptorOf8 = "\x12\x00", "\x12\x10\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00\x0a\x00"
	for _, row := range []struct {
		name, wire, want string
		descriptors      int
	}{
		{"descriptors", strings.Repeat(descriptor, codec.MaxDescriptors), "", codec.MaxDescriptors},
		{"one more", strings.Repeat(descriptor, codec.MaxDescriptors+1), "more than 4096 descriptors", codec.MaxDescriptors},
		{"entries", strings.Repeat(descriptorOf8, codec.MaxEntries/8), "", codec.MaxEntries / 8},
		{"one more entry", "\x12\x02\x0a\x00" + strings.Repeat(descriptorOf8, codec.MaxEntries/8), "more than 16384 entries", codec.MaxDescriptors},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var q codec.Request
			decode(t, &q, []byte(row.wire))
			if row.want == "" && (q.Err != nil || len(q.Descriptors) != row.descriptors) {
				t.Errorf("%d descriptors, error %v, want %d", len(q.Descriptors), q.Err, row.descriptors)
			}
			if row.want != "" && (q.Err == nil || !strings.Contains(q.Err.Error(), row.want) || len(q.Descriptors) > row.descriptors) {
				t.Errorf("%d descriptors, error %v, want %s", len(q.Descriptors), q.Err, row.want)
			}
		})
	}
}
