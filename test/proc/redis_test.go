package proc

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func startRedis(t *testing.T) *Redis {
	t.Helper()
	path, err := FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	r, err := StartRedis(context.WithoutCancel(t.Context()), path, new(Ports))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Stop() }) //nolint:errcheck // a test may have ended it
	return r
}

func (r *Redis) must(t *testing.T, words ...string) string {
	t.Helper()
	text, err := r.Do(t.Context(), words...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCheckExpiries(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	for i := range 2500 { // more than a page of SCAN
		r.must(t, "SET", "k"+strconv.Itoa(i), "v", "PX", "3600000")
	}
	r.must(t, "SET", "one", "v")
	r.must(t, "RPUSH", "two", "v")
	if err := r.CheckExpiries(t.Context(), "", ""); err == nil || !strings.HasPrefix(err.Error(), "2 keys never expire") {
		t.Errorf("error is %v", err)
	}
	if err := r.CheckExpiries(t.Context(), "k", ""); err != nil {
		t.Errorf("other keys than those asked for: %v", err)
	}
	r.must(t, "FLUSHALL")
	r.must(t, "SET", "k", "v", "PX", "3600000")
	if err := r.CheckExpiries(t.Context(), "", ""); err != nil {
		t.Error(err)
	}
	r.must(t, "CONFIG", "SET", "requirepass", "secret")
	if err := r.CheckExpiries(t.Context(), "", ""); err == nil {
		t.Error("no error although a password is missing")
	}
	if err := r.CheckExpiries(t.Context(), "", "secret"); err != nil {
		t.Error(err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := r.CheckExpiries(t.Context(), "", ""); err != nil {
		t.Errorf("a server that has ended: %v", err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	sent, err := r.Commands(t.Context(), func() {
		r.must(t, "SET", "k", "v", "PX", "3600000")
		r.must(t, "EVAL", "return(redis.call(ARGV[1],KEYS[1]))", "1", "k", "GET")
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"SET" "k" "v"`, `"EVAL" "return`} {
		if len(sent) != 2 || !strings.Contains(sent[i], want) {
			t.Errorf("commands are %q, want SET and EVAL and not what the script did", sent)
		}
	}
}

// TestProxy also wants what comes back as the meddler has it.
func TestProxy(t *testing.T) {
	t.Parallel()
	first, second := startRedis(t), startRedis(t)
	p, err := NewProxy(t.Context(), first.Addr())
	if err != nil {
		t.Fatal(err)
	}
	through := &Redis{Port: p.listener.Addr().(*net.TCPAddr).Port} //nolint:errcheck // of TCP
	first.must(t, "SET", "k", "one", "PX", "3600000")
	second.must(t, "SET", "k", "two", "PX", "3600000")
	var got []string
	note := func() {
		text, err := through.Do(t.Context(), "GET", "k")
		if err != nil {
			text = "error"
		}
		got = append(got, text)
	}
	note()
	p.Lead(second.Addr())
	note()
	p.Meddle(func(sent []byte) []byte { return []byte(strings.ToUpper(string(sent))) })
	note()
	p.Meddle(func([]byte) []byte { return nil })
	note()
	p.Meddle(nil)
	note()
	if diff := cmp.Diff([]string{"$3\r\none\r\n", "$3\r\ntwo\r\n", "$3\r\nTWO\r\n", "error", "$3\r\ntwo\r\n"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if p.Opened() != 5 {
		t.Errorf("%d connections, want 5", p.Opened())
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the proxy ends it
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the proxy")
	}
}
