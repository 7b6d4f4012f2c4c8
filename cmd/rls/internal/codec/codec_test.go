package codec_test

import (
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

func TestStandardMessages(t *testing.T) {
	t.Parallel()
	if name := codec.New().Name(); name != "proto" {
		t.Errorf("name is %q, which no client asks for", name)
	}
	if _, err := codec.New().Marshal("text"); err == nil {
		t.Error("Marshal of a string succeeds")
	}
	var s string
	if err := codec.New().Unmarshal(nil, &s); err == nil {
		t.Error("Unmarshal into a string succeeds")
	}
	want := request("k", "v")
	out, err := codec.New().Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got rlspb.RateLimitRequest
	if err := codec.New().Unmarshal(out, &got); err != nil || !proto.Equal(want, &got) {
		t.Errorf("standard message = %v, %v; want %v", &got, err, want)
	}
}

// countingPool counts the buffers that come back to it.
type countingPool struct{ returned int }

func (p *countingPool) Get(n int) *[]byte { return new(make([]byte, n)) }

func (p *countingPool) Put(*[]byte) { p.returned++ }

func TestBufferIsReleased(t *testing.T) {
	t.Parallel()
	var pool countingPool
	wire := make([]byte, 4096)
	data := mem.BufferSlice{mem.NewBuffer(&wire, &pool)}
	if err := codec.New().Unmarshal(data, new(codec.Request)); err != nil {
		t.Fatal(err)
	}
	if pool.returned != 0 {
		t.Error("the decode freed gRPC's reference")
	}
	data.Free()
	if pool.returned != 1 {
		t.Errorf("%d buffers came back, want 1", pool.returned)
	}
}
