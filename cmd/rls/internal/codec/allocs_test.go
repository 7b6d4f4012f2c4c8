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
	body := func(n int) *codec.Response { return &codec.Response{Code: codec.OverLimit, RawBody: make([]byte, n)} }
	tests := []struct {
		name string
		in   *codec.Response
		most float64
	}{
		{"usual", response(), 2},
		{"largest small answer", body(235), 2},
		{"smallest larger answer", body(236), 3},
		{"large answer", body(20_000), 1},
	}
	c := codec.New()
	for _, tt := range tests {
		got := testing.AllocsPerRun(100, func() {
			out, err := c.Marshal(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			out.Free()
		})
		if got > tt.most {
			t.Errorf("%s: %v allocations per encode, want at most %v", tt.name, got, tt.most)
		}
	}
}
