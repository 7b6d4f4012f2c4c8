package codec_test

import (
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// length is a message that knows only how long it was.
type length struct{ n int }

func (l *length) Decode(wire []byte) { l.n = len(wire) }

// TestDecoder: a message that reads itself gets all bytes, whatever they are.
func TestDecoder(t *testing.T) {
	t.Parallel()
	var got length
	data := mem.BufferSlice{mem.SliceBuffer("\xff\xff"), mem.SliceBuffer("\x00")}
	if err := codec.New().Unmarshal(data, &got); err != nil || got.n != 3 {
		t.Errorf("%d bytes, %v, want 3", got.n, err)
	}
}
