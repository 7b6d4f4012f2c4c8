package settings

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAdminAddr: the operator's port is for this machine alone, unless told
// otherwise or in compat mode, where it is where it was.
func TestAdminAddr(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		env  map[string]string
		want string
	}{
		{"default", nil, nil, "127.0.0.1:6070"},
		{"compat", []string{"--compat", "envoyproxy"}, nil, ":6070"},
		{"compat by variable", nil, map[string]string{"RLS_COMPAT": "envoyproxy"}, ":6070"},
		{"compat, told otherwise", []string{"--compat", "envoyproxy", "--admin-addr", "127.0.0.1:1"}, nil, "127.0.0.1:1"},
		{"compat, told by variable", []string{"--compat", "envoyproxy"}, map[string]string{"RLS_ADMIN_ADDR": "127.0.0.1:6070"}, "127.0.0.1:6070"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			env := func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }
			s, err := Read(Command{Name: "serve", Flags: []string{"compat", "admin-addr"}}, row.args, env, io.Discard)
			if err != nil || s.AdminAddr != row.want {
				t.Errorf("%+v, %v, want %s", s, err, row.want)
			}
		})
	}
}

// TestVariablesOfBoth: ours goes before the one of envoyproxy/ratelimit.
func TestVariablesOfBoth(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"SHADOW_MODE": "true"}, true},
		{map[string]string{"SHADOW_MODE": ""}, false},
		{map[string]string{"RLS_SHADOW_MODE": "true"}, true},
		{map[string]string{"RLS_SHADOW_MODE": "false", "SHADOW_MODE": "true"}, false},
		{map[string]string{"RLS_SHADOW_MODE": "", "SHADOW_MODE": "true"}, true},
	} {
		env := func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }
		s, err := Read(Command{Name: "serve", Flags: []string{"shadow-mode"}}, nil, env, io.Discard)
		if err != nil || s.Shadow != row.want {
			t.Errorf("%v: %+v, %v, want %v", row.env, s, err, row.want)
		}
	}
}

// TestRedisVariables: envoyproxy/ratelimit's names set what ours set.
func TestRedisVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"BACKEND_TYPE": "redis", "REDIS_URL": "a:1", "REDIS_TYPE": "SINGLE", "REDIS_SOCKET_TYPE": "tcp", "REDIS_AUTH": "b", "REDIS_SENTINEL_AUTH": "c",
		"REDIS_TLS": "true", "REDIS_TLS_CACERT": "d", "REDIS_TLS_CLIENT_CERT": "e", "REDIS_TLS_CLIENT_KEY": "f",
		"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION": "true", "REDIS_POOL_SIZE": "7", "REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": "g:1",
		"REDIS_PERSECOND_TYPE": "single", "REDIS_PERSECOND_SOCKET_TYPE": "tcp", "REDIS_PERSECOND_AUTH": "h", "REDIS_PERSECOND_SENTINEL_AUTH": "i",
		"REDIS_PERSECOND_TLS": "true", "REDIS_PERSECOND_POOL_SIZE": "8", "CACHE_KEY_PREFIX": "j", "EXPIRATION_JITTER_MAX_SECONDS": "9",
		"LOCAL_CACHE_SIZE_IN_BYTES": "10", "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT": "true",
		"RLS_REDIS_BUDGET": "3ms", "RLS_REDIS_KEY_PREFIX": "k", "RLS_REDIS_HASH_KEYS": "l", "RLS_READY_WITHOUT_REDIS": "true", "RLS_OVER_LIMIT_CACHE": "false",
	}
	s, err := Read(Command{Name: "serve", Flags: append(append(RedisFlags(), RedisServeFlags()...), "backend", "local-max-keys")}, nil,
		func(name string) (string, bool) { v, ok := env[name]; return v, ok }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := &Settings{
		Backend: "redis", LocalMaxKeys: s.LocalMaxKeys,
		Redis: Redis{
			URL: "a:1", Type: "SINGLE", Socket: "tcp", Auth: "b", SentinelAuth: "c", TLS: true, CA: "d", Cert: "e", Key: "f", SkipHostname: true, PoolSize: 7,
		},
		Shared: Shared{Budget: 3 * time.Millisecond, KeyPrefix: "k", HashKeys: "l", ReadyWithout: true},
		Legacy: Legacy{
			KeyPrefix: "j", Jitter: 9, CacheBytes: 10, StopIncrement: true, PerSecond: true,
			Second: Redis{URL: "g:1", Type: "single", Socket: "tcp", Auth: "h", SentinelAuth: "i", TLS: true, PoolSize: 8},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
