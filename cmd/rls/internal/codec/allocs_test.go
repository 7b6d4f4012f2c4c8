//go:build !race

package codec_test

import (
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// These tests are not parallel: AllocsPerRun counts the whole process.

func TestDecodeAllocs(t *testing.T) {
	c, data := codec.New(), mem.BufferSlice{mem.SliceBuffer(encoded(t, threeDescriptors()))}
	q := new(codec.Request)
	got := testing.AllocsPerRun(100, func() {
		if err := c.Unmarshal(data, q); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
	})
	if got > 1 {
		t.Errorf("%v allocations per decode, want 1", got)
	}
}

func TestEncodeAllocs(t *testing.T) {
	c, r := codec.New(), response()
	got := testing.AllocsPerRun(100, func() {
		out, err := c.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Free()
	})
	if got > 2 {
		t.Errorf("%v allocations per encode, want 2", got)
	}
}
