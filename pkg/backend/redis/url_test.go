package redis_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	type parsed struct {
		Mode           redis.Mode
		Addrs          []string
		Master         string
		Database       int
		TLS            bool
		User, Password string
	}
	one := func(addrs ...string) []string { return addrs }
	tests := []struct {
		name string
		url  string
		want parsed
	}{
		{"host", "redis://h", parsed{Addrs: one("h:6379")}},
		{"port and database", "redis://h:1/3", parsed{Addrs: one("h:1"), Database: 3}},
		{"version 6", "redis://[::1]", parsed{Addrs: one("[::1]:6379")}},
		{"version 6 with a port", "redis://[::1]:2", parsed{Addrs: one("[::1]:2")}},
		{
			"password", "rediss://me:p%40ss%3A%2F%25%23word@h",
			parsed{Addrs: one("h:6379"), TLS: true, User: "me", Password: "p@ss:/%#word"},
		},
		{"password alone", "redis://:a:b@c@h", parsed{Addrs: one("h:6379"), Password: "a:b@c"}},
		{"socket", "unix://u:p@/run/a%20b.sock", parsed{Addrs: one("/run/a b.sock"), User: "u", Password: "p"}},
		{
			"sentinels", "redis-sentinel://u@a,b:7/my%2Fmaster/2",
			parsed{Mode: redis.Sentinel, Addrs: one("a:26379", "b:7"), Master: "my/master", Database: 2, User: "u"},
		},
		{"sentinels with TLS", "rediss-sentinel://a/m", parsed{Mode: redis.Sentinel, Addrs: one("a:26379"), Master: "m", TLS: true}},
		{"cluster", "redis-cluster://a:1,b:2", parsed{Mode: redis.Cluster, Addrs: one("a:1", "b:2")}},
		{"cluster with TLS", "rediss-cluster://a/", parsed{Mode: redis.Cluster, Addrs: one("a:6379"), TLS: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, err := redis.ParseURL(test.url)
			if err != nil {
				t.Fatal(err)
			}
			got := parsed{Mode: o.Mode, Addrs: o.Addrs, Master: o.Master, Database: o.Database, TLS: o.TLS != nil}
			if o.Credentials != nil {
				if got.User, got.Password, err = o.Credentials(); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ParseURL(%q) (-want +got):\n%s", test.url, diff)
			}
		})
	}
}

// TestParseURLRefuses also wants errors that show nothing of the password.
func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "hidden", "http://hidden@h", "redis://", "redis://:hidden@", "redis://u:hidden@h:0", "redis://u:hidden@h:65536",
		"redis://u:hid/den@h", "redis://u:%hidden@h", "redis://%hidden@h", "redis://u:hidden@h/x", "redis://u:hidden@h/-1",
		"redis://u:hidden@a,b", "redis://u:hidden@h?db=1", "redis://u:hidden#@h", "redis://a:b:1", "redis://[::1",
		"unix://hidden", "unix://u:hidden@h/path", "unix:///%hidden", "redis-sentinel://u:hidden@h", "redis-sentinel://h/m/hidden",
		"redis-sentinel://h/%hidden", "redis-cluster://u:hidden@h/1", "redis-cluster://h,",
	} {
		o, err := redis.ParseURL(url)
		if err == nil {
			t.Errorf("ParseURL(%q) is %+v", url, o)
		} else if strings.Contains(err.Error(), "hid") || strings.Contains(err.Error(), "den") {
			t.Errorf("the error of ParseURL(%q) is %q", url, err)
		}
	}
}
