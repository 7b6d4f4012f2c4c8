package codec_test

import (
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

func TestStandardMessages(t *testing.T) {
	t.Parallel()
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
