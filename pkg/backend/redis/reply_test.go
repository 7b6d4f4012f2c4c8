package redis

import (
	"errors"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/test/proc"
)

// TestDivide: a reply with another number of lines than there are items says nothing
// of any, least of all that a key was never seen.
func TestDivide(t *testing.T) {
	t.Parallel()
	batch := func() []*call { return []*call{{items: make([]item, 2)}, {items: make([]item, 1)}} }
	tests := []struct {
		name, reply string
		want        []string // of the calls; nil: an error
	}{
		{"a line each", "7\na\nb\nc", []string{"a\nb\n", "c\n"}},
		{"keys never seen", "7\n\n\n", []string{"\n\n", "\n"}},
		{"an error", "7\n!OOM no\nb\nc", []string{"!OOM no\nb\n", "c\n"}},
		{"a line too few", "7\na\nb", nil},
		{"a line too many", "7\n!OOM no\n\nb\nc", nil},
		{"the instant alone", "7", nil},
		{"no instant", "x\na\nb\nc", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			calls := batch()
			err := divide(calls, test.reply)
			if (err == nil) != (test.want != nil) || err != nil && !errors.Is(err, errReply) {
				t.Fatalf("error %v", err)
			}
			for i := range test.want {
				if calls[i].lines != test.want[i] || calls[i].now != 7 {
					t.Errorf("call %d has %q of instant %d, want %q", i, calls[i].lines, calls[i].now, test.want[i])
				}
			}
		})
	}
}

// TestTold: errors are one line that begins with their word, in the form of Redis 6.2,
// too.
func TestTold(t *testing.T) {
	t.Parallel()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	var ports proc.Ports
	server, err := proc.StartRedis(t.Context(), path, &ports)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		server.Stop() //nolint:errcheck // the end of the test has ended it
	})
	_, rest, _ := strings.Cut(preludeLua, "local function told(")
	body, _, found := strings.Cut(rest, "\nend\n")
	if !found {
		t.Fatal("prelude.lua has no function told")
	}
	script := "local gsub = string.gsub local function told(" + body + "\nend return told(ARGV[1])"
	for text, want := range map[string]string{
		"OOM command not allowed when used memory > 'maxmemory'.":                        "!OOM command not allowed when used memory > 'maxmemory'.",
		"@user_script: 52: -OOM command not allowed when used memory > 'maxmemory'.\r\n": "!OOM command not allowed when used memory > 'maxmemory'.",
		"@user_script: 52: -READONLY You can't write against a read only replica.\r\n":   "!READONLY You can't write against a read only replica.",
		"WRONGTYPE Operation against a key holding the wrong kind of value":              "!WRONGTYPE Operation against a key holding the wrong kind of value",
		"ERR value of another form": "!ERR value of another form",
	} {
		if got := client.Eval(t.Context(), script, nil, text).Val(); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}
