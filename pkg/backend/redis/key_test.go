package redis

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	plain, secret, other := newKeyer("rls", nil), newKeyer("rls", []byte("s")), newKeyer("rls", []byte("o"))
	long := bytes.Repeat([]byte("x"), longest+1)
	tests := []struct {
		name     string
		keyer    *keyer
		identity []byte
		want     string // how it begins
		length   int
	}{
		{"short", &plain, []byte("id"), "rls1{}id", 8},
		{"braces", &plain, []byte("}{x}"), "rls1{}}{x}", 10},
		{"empty", &plain, nil, "rls1{}", 6},
		{"longest", &plain, long[1:], "rls1{}xxx", 6 + longest},
		{"too long", &plain, long, "rls1#{}", 7 + 32},
		{"secret", &secret, []byte("id"), "rls1#{}", 7 + 32},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // a pooled HMAC is used again
				got := string(test.keyer.appendKey(nil, test.identity))
				if !strings.HasPrefix(got, test.want) || len(got) != test.length {
					t.Errorf("key is %q, want %d bytes that begin with %q", got, test.length, test.want)
				}
			}
		})
	}
	keys := map[string]bool{}
	for _, k := range []*keyer{&plain, &secret, &other} {
		keys[string(k.appendKey(nil, long))] = true
		keys[string(k.appendKey(nil, long[1:]))] = true
	}
	if len(keys) != 6 {
		t.Errorf("two identities under three secrets have %d keys", len(keys))
	}
}

func TestPacker(t *testing.T) {
	t.Parallel()
	var p packer
	p.ints(0, 127, 128, 1<<16-1, 1<<16, -1)
	p.list(16)
	p.list(1 << 16)
	want := "\x96\x00\x7f\xcd\x00\x80\xcd\xff\xff\xd3\x00\x00\x00\x00\x00\x01\x00\x00\xd3\xff\xff\xff\xff\xff\xff\xff\xff" +
		"\xdc\x00\x10\xdd\x00\x01\x00\x00"
	if diff := cmp.Diff(want, string(p)); diff != "" {
		t.Errorf("packed (-want +got):\n%s", diff)
	}
}
