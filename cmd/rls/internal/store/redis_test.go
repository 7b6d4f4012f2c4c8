package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServerOptions: URLs and the addresses of envoyproxy/ratelimit say the same.
func TestServerOptions(t *testing.T) {
	t.Parallel()
	type found struct {
		Mode           redis.Mode
		Addrs          []string
		Master         string
		Database       int
		User, Password string
		Sentinel       string // user:password
		TLS            bool
		PoolSize       int
	}
	file := write(t, t.TempDir(), "password", "p@ss:/%#word\r\n")
	spaces := write(t, t.TempDir(), "password", " p \n")
	for _, row := range []struct {
		name string
		in   settings.Redis
		want found
	}{
		{"URL", settings.Redis{URL: "redis://u:p%40@h:1/3"}, found{Addrs: []string{"h:1"}, Database: 3, User: "u", Password: "p@"}},
		{"URL with TLS", settings.Redis{URL: "rediss://h:1"}, found{Addrs: []string{"h:1"}, TLS: true}},
		{"address", settings.Redis{URL: "h:1", Socket: "tcp", Type: "SINGLE"}, found{Addrs: []string{"h:1"}}},
		{"address with TLS", settings.Redis{URL: "h:1", TLS: true}, found{Addrs: []string{"h:1"}, TLS: true}},
		{"socket", settings.Redis{URL: "/run/r.sock", Socket: "unix"}, found{Addrs: []string{"/run/r.sock"}}},
		{
			"sentinels",
			settings.Redis{URL: "main,a:1,b:2", Type: "Sentinel", SentinelAuth: "s"},
			found{Mode: redis.Sentinel, Master: "main", Addrs: []string{"a:1", "b:2"}, Sentinel: ":s"},
		},
		{"cluster", settings.Redis{URL: "a:1,b:2", Type: "CLUSTER"}, found{Mode: redis.Cluster, Addrs: []string{"a:1", "b:2"}}},
		{"cluster, with the kind of socket of a single one", settings.Redis{URL: "a:1,b:2", Type: "cluster", Socket: "unix"}, found{Mode: redis.Cluster, Addrs: []string{"a:1", "b:2"}}},
		{"URL of a cluster", settings.Redis{URL: "redis-cluster://a,b:2"}, found{Mode: redis.Cluster, Addrs: []string{"a:6379", "b:2"}}},
		{"connections", settings.Redis{URL: "h:1", PoolSize: 7}, found{Addrs: []string{"h:1"}, PoolSize: 7}},
		{
			"sentinels with a user",
			settings.Redis{URL: "main,a:1", Type: "sentinel", SentinelAuth: "u:se:cret"},
			found{Mode: redis.Sentinel, Master: "main", Addrs: []string{"a:1"}, Sentinel: "u:se:cret"},
		},
		{"password with spaces", settings.Redis{URL: "h:1", PasswordFile: spaces}, found{Addrs: []string{"h:1"}, Password: " p "}},
		{"password", settings.Redis{URL: "h:1", Auth: "secret"}, found{Addrs: []string{"h:1"}, Password: "secret"}},
		{"user and password", settings.Redis{URL: "h:1", Auth: "u:se:cret"}, found{Addrs: []string{"h:1"}, User: "u", Password: "se:cret"}},
		{"user in the URL, password in a file", settings.Redis{URL: "redis://u@h:1", PasswordFile: file}, found{Addrs: []string{"h:1"}, User: "u", Password: "p@ss:/%#word"}},
		{"user in the URL, password apart", settings.Redis{URL: "redis://u@h:1", Password: "p"}, found{Addrs: []string{"h:1"}, User: "u", Password: "p"}},
		{"user in the URL, auth apart", settings.Redis{URL: "redis://u@h:1", Auth: "p"}, found{Addrs: []string{"h:1"}, User: "u", Password: "p"}},
		{"the same user twice", settings.Redis{URL: "redis://u@h:1", Auth: "u:p"}, found{Addrs: []string{"h:1"}, User: "u", Password: "p"}},
		{"password in the URL, user apart", settings.Redis{URL: "redis://:p@h:1", Username: "u"}, found{Addrs: []string{"h:1"}, User: "u", Password: "p"}},
		{"URL with its type", settings.Redis{URL: "redis-cluster://h:1", Type: "Cluster"}, found{Mode: redis.Cluster, Addrs: []string{"h:1"}}},
		{
			"files",
			settings.Redis{URL: "main,a:1", Type: "sentinel", Username: "u", PasswordFile: file, SentinelFile: file},
			found{Mode: redis.Sentinel, Master: "main", Addrs: []string{"a:1"}, User: "u", Password: "p@ss:/%#word", Sentinel: ":p@ss:/%#word"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o, err := serverOptions(&row.in, "--redis")
			if err != nil {
				t.Fatal(err)
			}
			got := found{Mode: o.Mode, Addrs: o.Addrs, Master: o.Master, Database: o.Database, TLS: o.TLS != nil, PoolSize: o.PoolSize}
			if o.Credentials != nil {
				got.User, got.Password, _ = o.Credentials()
			}
			if o.SentinelCredentials != nil {
				user, password, _ := o.SentinelCredentials()
				got.Sentinel = user + ":" + password
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRD09FilesAreReadAgain for each connection, and a fault of one is an error then.
func TestRD09FilesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, sentinel := write(t, dir, "data", "first"), write(t, dir, "sentinel", "first")
	o, err := serverOptions(&settings.Redis{URL: "main,a:1", Type: "sentinel", Username: "u", PasswordFile: data, SentinelFile: sentinel}, "--redis")
	if err != nil {
		t.Fatal(err)
	}
	for name, credentials := range map[string]redis.Credentials{"data": o.Credentials, "sentinel": o.SentinelCredentials} {
		for _, text := range []string{"second", "third\n"} {
			write(t, dir, name, name+text)
			if _, got, err := credentials(); got != name+strings.TrimSpace(text) || err != nil {
				t.Errorf("%s: password %q, %v, want %q", name, got, err, name+text)
			}
		}
		write(t, dir, name, "\n")
		if _, _, err := credentials(); err == nil {
			t.Errorf("%s: an empty file is no error", name)
		}
	}
}

// TestServerOptionsErrors are one line that names the flag and no secret.
func TestServerOptionsErrors(t *testing.T) {
	t.Parallel()
	empty := write(t, t.TempDir(), "empty", "\n")
	for _, row := range []struct {
		name, want string
		in         settings.Redis
	}{
		{"no port", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "hunter2"}},
		{"socket without a path", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "h:1", Socket: "unix"}},
		{"password before an address", "--redis-url: has an @, which is for URLs: write redis://:password@host:port", settings.Redis{URL: "hunter2@h:1"}},
		{"password before a sentinel", "--redis-url: has an @, which is for URLs: write redis://:password@host:port", settings.Redis{URL: "m,u:hunter2@h:1", Type: "sentinel"}},
		{"socket without a path, in capitals", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "h:1", Socket: "UNIX"}},
		{"path of no socket", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "/run/r.sock", Socket: "TCP"}},
		{"paths of a cluster", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "/run/a,/run/b", Type: "cluster"}},
		{"empty port", "--redis-url: must be a URL, or host:port, or the path of a socket from / on", settings.Redis{URL: "h:"}},
		{
			"no such file of the sentinels", "--redis-sentinel-password-file: open /nonexistent: no such file or directory",
			settings.Redis{URL: "m,h:1", Type: "sentinel", SentinelFile: "/nonexistent"},
		},
		{"two", "--redis-url: a single redis has several addresses, must have one", settings.Redis{URL: "a:1,b:2"}},
		{"no sentinel", "--redis-url: must be the master's name and the sentinels' addresses, with commas between", settings.Redis{URL: "m", Type: "sentinel"}},
		{"type", `--redis-url: the type is "ring", must be single, sentinel or cluster`, settings.Redis{URL: "h:1", Type: "ring"}},
		{"type of a URL", `--redis-url: the type is "ring", must be single, sentinel or cluster`, settings.Redis{URL: "redis://h:1", Type: "ring"}},
		{"another scheme", `--redis-url: its scheme is not that of the type "cluster"; leave the type out`, settings.Redis{URL: "redis://h:1", Type: "cluster"}},
		{"single, but a cluster", `--redis-url: its scheme is not that of the type "single"; leave the type out`, settings.Redis{URL: "redis-cluster://h:1", Type: "single"}},
		{"two users", "--redis-url names another user than --redis-username; give one of them", settings.Redis{URL: "redis://u@h:1", Username: "v", Password: "p"}},
		{"two users, by auth", "--redis-url names another user than --redis-auth; give one of them", settings.Redis{URL: "redis://u@h:1", Auth: "v:hunter2"}},
		{"two passwords", "--redis-url has a password, and so has --redis-password; give one of them", settings.Redis{URL: "redis://:hunter2@h:1", Password: "p"}},
		{"password and file", "--redis-url has a password, and so has --redis-password-file; give one of them", settings.Redis{URL: "redis://:hunter2@h:1", PasswordFile: empty}},
		{"password and auth", "--redis-url has a password, and so has --redis-auth; give one of them", settings.Redis{URL: "redis://u:hunter2@h:1", Auth: "p"}},
		{"no password", "a user of redis is given without a password; add --redis-password-file", settings.Redis{URL: "redis://h:1", Username: "u"}},
		{
			"no password, or no colon", "--redis-url has a user without a password; a password alone has a colon before it, redis://:password@host, and that of a user is given by --redis-password-file",
			settings.Redis{URL: "redis://hunter2@h:1"},
		},
		{"no such file", "--redis-password-file: open /nonexistent: no such file or directory", settings.Redis{URL: "h:1", PasswordFile: "/nonexistent"}},
		{"empty file", "--redis-password-file: " + empty + " is empty, must hold a secret", settings.Redis{URL: "h:1", PasswordFile: empty}},
		{"no certificate", "--redis-tls: " + empty + " has no certificate in PEM", settings.Redis{URL: "h:1", TLS: true, CA: empty}},
		{"password in a URL", "--redis-url: the port in the URL of redis is no number from 1 to 65535", settings.Redis{URL: "redis://u:hunter2@h:x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := serverOptions(&row.in, "--redis")
			if err == nil || err.Error() != row.want || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
}
