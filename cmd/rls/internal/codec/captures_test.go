package codec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// capture is one message that Envoy 1.40 sent. The want is nil if the standard
// decoder refuses the wire bytes.
type capture struct {
	name string
	wire []byte
	want *rlspb.RateLimitRequest
}

func captures(tb testing.TB) []capture {
	tb.Helper()
	paths, err := filepath.Glob("testdata/envoy-captures/*.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all []capture
	for _, path := range paths {
		all = append(all, readCaptures(tb, path)...)
	}
	return all
}

func readCaptures(tb testing.TB, path string) []capture {
	tb.Helper()
	var file struct {
		Calls []struct {
			Message json.RawMessage `json:"message"`
			Raw     []byte          `json:"raw_base64"`
		} `json:"calls"`
	}
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		tb.Fatal(err)
	}
	var all []capture
	for _, call := range file.Calls {
		c := capture{name: filepath.Base(path), wire: call.Raw}
		if call.Message != nil {
			c.want = &rlspb.RateLimitRequest{}
			if err := protojson.Unmarshal(call.Message, c.want); err != nil {
				tb.Fatalf("%s: %v", path, err)
			}
			c.wire = encoded(tb, c.want)
		}
		all = append(all, c)
	}
	return all
}

func encoded(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
