package settings

import (
	"io"
	"testing"
)

// TestRedisRefuses what would be ignored, or is no duration.
func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	const plain = "--redis-tls-ca, --redis-tls-cert and --redis-tls-key are for encrypted connections; " +
		"give a rediss:// URL or --redis-tls, or else --redis-tls=false"
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
		{"negative", "--redis-budget is -1ms, must be positive", []string{"--redis-url", "h:1", "--redis-budget", "-1ms"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := Command{Name: "serve", Flags: append(append(RedisFlags(), RedisServeFlags()...), "backend", "local-max-keys")}
			none := func(string) (string, bool) { return "", false }
			_, err := Read(c, append([]string{"--backend", "redis"}, row.args...), none, io.Discard)
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
