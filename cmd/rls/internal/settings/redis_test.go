package settings

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRedisRefuses what would be ignored, or is no duration.
func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	const plain = "--redis-tls-ca, --redis-tls-cert and --redis-tls-key are for encrypted connections; " +
		"give a rediss:// URL or --redis-tls, or else --redis-tls=false"
	const pair = "--redis-tls-cert and --redis-tls-key must be given together"
	const secrets = "--redis-auth, -password and -password-file exclude each other"
	const compat = "--compat-key-jitter and --compat-cache-bytes must not be negative"
	for _, row := range []struct {
		name, want string
		args       []string
	}{
		{"authority without TLS", plain, []string{"--redis-url", "redis://h", "--redis-tls-ca", "c"}},
		{"pair without TLS", plain, []string{"--redis-url", "rediss:1", "--redis-tls-cert", "c", "--redis-tls-key", "k"}},
		{"the other Redis has none either", plain, []string{"--redis-url", "h:1", "--redis-tls-ca", "c", "--redis-persecond", "--redis-persecond-url", "h:2"}},
		{"TLS by URL", "", []string{"--redis-url", "rediss://h", "--redis-tls-ca", "c"}},
		{"TLS by flag", "", []string{"--redis-url", "redis://h", "--redis-tls-ca", "c", "--redis-tls"}},
		{"switched off", "", []string{"--redis-url", "redis://h", "--redis-tls-ca", "c", "--redis-tls=false"}},
		{"for the other Redis", "", []string{"--redis-url", "h:1", "--redis-tls-ca", "c", "--redis-persecond", "--redis-persecond-url", "h:2", "--redis-persecond-tls"}},
		{
			"no unit", `invalid value "15" for flag --redis-budget: must be a duration with its unit, such as 15ms or 5s; rls serve --help lists the flags`,
			[]string{"--redis-budget", "15"},
		},
		{"with a unit", "", []string{"--redis-url", "h:1", "--redis-budget", "15ms"}},
		{"no time", "--redis-budget is 0s, must be positive", []string{"--redis-url", "h:1", "--redis-budget", "0s"}},
		{"no URL", "--redis-url is missing; --backend redis needs it", nil},
		{"no URL of the other Redis", "--redis-persecond-url is missing; --backend redis needs it", []string{"--redis-url", "h:1", "--redis-persecond"}},
		{"nothing of Redis matters to the local backend", "", []string{"--backend", "local", "--redis-pool-size", "-1"}},
		{"less than no connections", "--redis-pool-size is -1, must not be negative", []string{"--redis-url", "h:1", "--redis-pool-size", "-1"}},
		{"certificate alone", pair, []string{"--redis-url", "rediss://h", "--redis-tls-cert", "c"}},
		{"key alone", pair, []string{"--redis-url", "rediss://h", "--redis-tls-key", "k"}},
		{"two passwords", secrets, []string{"--redis-url", "h:1", "--redis-password", "hunter2", "--redis-password-file", "f"}},
		{"two passwords, by auth", secrets, []string{"--redis-url", "h:1", "--redis-auth", "hunter2", "--redis-password", "hunter2"}},
		{"auth and file", secrets, []string{"--redis-url", "h:1", "--redis-auth", "hunter2", "--redis-password-file", "f"}},
		{
			"auth and user", "--redis-auth and --redis-username exclude each other; --redis-auth takes user:password",
			[]string{"--redis-url", "h:1", "--redis-auth", "hunter2", "--redis-username", "u"},
		},
		{
			"two passwords of sentinels", "--redis-sentinel-auth and --redis-sentinel-password-file exclude each other",
			[]string{"--redis-url", "redis-sentinel://h/m", "--redis-sentinel-auth", "hunter2", "--redis-sentinel-password-file", "f"},
		},
		{"TLS by URL, with sentinels", "", []string{"--redis-url", "rediss-sentinel://h/m", "--redis-tls-ca", "c"}},
		{"TLS of the other Redis, which is not used", plain, []string{"--redis-url", "h:1", "--redis-tls-ca", "c", "--redis-persecond-tls"}},
		{"negative jitter", compat, []string{"--redis-url", "h:1", "--compat-key-jitter", "-1"}},
		{"negative cache", compat, []string{"--redis-url", "h:1", "--compat-cache-bytes", "-1"}},
		{"negative", "--redis-budget is -1ms, must be positive", []string{"--redis-url", "h:1", "--redis-budget", "-1ms"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := readRedis(row.args)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// readRedis reads flags of a server with the redis backend.
func readRedis(args []string) (*Settings, error) {
	c := Command{Name: "serve", Flags: append(append(RedisFlags(), RedisServeFlags()...), "backend", "local-max-keys")}
	none := func(string) (string, bool) { return "", false }
	return Read(c, append([]string{"--backend", "redis"}, args...), none, io.Discard)
}

// TestRedisFlags: each flag sets its own, and what is not given is as documented.
func TestRedisFlags(t *testing.T) {
	t.Parallel()
	standard := func() *Settings {
		return &Settings{
			Backend: "redis", LocalMaxKeys: 2_000_000, Redis: Redis{URL: "h:1"},
			Shared: Shared{Budget: 15 * time.Millisecond, KeyPrefix: "rls", OverLimitCache: true}, Legacy: Legacy{Jitter: 300},
		}
	}
	for _, row := range []struct {
		name string
		args []string
		want func(s *Settings)
	}{
		{"nothing", nil, func(*Settings) {}},
		{
			"secrets in files",
			[]string{"--redis-username", "u", "--redis-password-file", "f", "--redis-sentinel-password-file", "g"},
			func(s *Settings) { s.Redis.Username, s.Redis.PasswordFile, s.Redis.SentinelFile = "u", "f", "g" },
		},
		{
			"secrets",
			[]string{"--redis-username", "u", "--redis-password", "p", "--redis-sentinel-auth", "s"},
			func(s *Settings) { s.Redis.Username, s.Redis.Password, s.Redis.SentinelAuth = "u", "p", "s" },
		},
		{"no TLS", []string{"--redis-tls=false"}, func(s *Settings) { s.Redis.Plain = true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := readRedis(append([]string{"--redis-url", "h:1"}, row.args...))
			if err != nil {
				t.Fatal(err)
			}
			want := standard()
			row.want(want)
			got.Args = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
