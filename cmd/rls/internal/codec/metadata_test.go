package codec_test

import (
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
)

// TestMoreMetadata: an encoded Struct adds its fields to those given as strings.
func TestMoreMetadata(t *testing.T) {
	t.Parallel()
	more, err := structpb.NewStruct(map[string]any{"list": []any{"a", 1.5}, "map": map[string]any{"b": true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range [][]codec.StringField{nil, {{Key: "rls.rule", Value: "r"}}} {
		data, err := codec.New().Marshal(&codec.Response{Code: codec.OK, DynamicMetadata: own, MoreMetadata: encoded(t, more)})
		if err != nil {
			t.Fatal(err)
		}
		got := &rlspb.RateLimitResponse{}
		if err := proto.Unmarshal(data.Materialize(), got); err != nil {
			t.Fatal(err)
		}
		want := more.AsMap()
		for _, f := range own {
			want[f.Key] = f.Value
		}
		if diff := cmp.Diff(want, got.GetDynamicMetadata().AsMap()); diff != "" {
			t.Error(diff)
		}
	}
}
