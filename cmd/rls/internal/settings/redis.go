package settings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

// Redis says where a Redis is and how to talk to it. Secrets are as they were
// given; the store package makes options of it.
type Redis struct {
	URL, Type, Socket string
	Auth, Username    string
	Password          string
	PasswordFile      string
	SentinelAuth      string
	SentinelFile      string
	TLS               bool
	Plain             bool   // --redis-tls=false was given
	CA, Cert, Key     string // files
	SkipHostname      bool
	PoolSize          int
}

// Shared are the settings of the redis backend that are not about one server.
type Shared struct {
	Budget         time.Duration
	KeyPrefix      string
	HashKeys       string // file
	ReadyWithout   bool   // serve before Redis has answered
	OverLimitCache bool
}

// Legacy are the settings of envoyproxy/ratelimit's counters.
type Legacy struct {
	KeyPrefix     string
	Jitter        int64 // s
	CacheBytes    int
	StopIncrement bool
	PerSecond     bool
	Second        Redis // for rules of one second, if PerSecond
}

// RedisFlags are the flags of the redis backend.
func RedisFlags() []string {
	return []string{
		"redis-url", "redis-type", "redis-socket-type", "redis-auth", "redis-username", "redis-password", "redis-password-file",
		"redis-sentinel-auth", "redis-sentinel-password-file", "redis-tls", "redis-tls-ca", "redis-tls-cert", "redis-tls-key",
		"redis-tls-skip-hostname-verification", "redis-pool-size", "redis-budget", "redis-key-prefix", "redis-hash-keys",
	}
}

// RedisServeFlags are those that only a server has.
func RedisServeFlags() []string {
	return []string{
		"ready-without-redis", "over-limit-cache", "compat-key-prefix", "compat-key-jitter", "compat-cache-bytes", "compat-stop-increment",
		"redis-persecond", "redis-persecond-url", "redis-persecond-type", "redis-persecond-socket-type", "redis-persecond-auth",
		"redis-persecond-sentinel-auth", "redis-persecond-tls", "redis-persecond-pool-size",
	}
}

// redis are the settings of Redis servers.
func (s *Settings) redis(f flags) bool {
	if name, ok := strings.CutPrefix(f.name, "redis-persecond-"); ok {
		return s.Legacy.Second.server(f, name, "the Redis for rules of one second: ")
	}
	name, ok := strings.CutPrefix(f.name, "redis-")
	return ok && (s.Redis.server(f, name, "") || s.Redis.secrets(f, name) || s.shared(f)) || s.legacy(f)
}

// server are the settings that each Redis has.
func (r *Redis) server(f flags, name, of string) bool {
	switch name {
	case "url":
		f.text(&r.URL, "", of+"`URL`: redis://, rediss://, unix://, redis-sentinel:// or redis-cluster://, or an address as envoyproxy/ratelimit takes it")
	case "type":
		f.text(&r.Type, "", of+"what an address that is no URL is of: `single`, sentinel (master,host:port,…) or cluster (host:port,…)")
	case "socket-type":
		f.text(&r.Socket, "", of+"`kind` of such an address if single: tcp or unix; it can be seen from the address")
	case "auth":
		f.text(&r.Auth, "", of+"`[user:]password`; a file keeps it from the list of processes")
	case "sentinel-auth":
		f.text(&r.SentinelAuth, "", of+"`[user:]password` of the sentinels themselves")
	case "tls":
		f.yes(&r.TLS, of+"encrypt connections")
	case "pool-size":
		f.set.IntVar(&r.PoolSize, f.name, 0, of+"most `connections` to a server; 0 is what is needed")
	default:
		return false
	}
	return true
}

func (r *Redis) secrets(f flags, name string) bool {
	switch name {
	case "username":
		f.text(&r.Username, "", "`user` of the access control list")
	case "password":
		f.text(&r.Password, "", "`password`; a file keeps it from the list of processes")
	case "password-file":
		f.text(&r.PasswordFile, "", "`file` with the password, read at each new connection")
	case "sentinel-password-file":
		f.text(&r.SentinelFile, "", "`file` with the password of the sentinels, read at each new connection")
	case "tls-ca":
		f.text(&r.CA, "", "`file` with the certificates that sign those of servers, read at the start; nothing: the system's")
	case "tls-cert":
		f.text(&r.Cert, "", "`file` with our own certificate, read at each new connection")
	case "tls-key":
		f.text(&r.Key, "", "`file` with the key of our own certificate")
	case "tls-skip-hostname-verification":
		f.yes(&r.SkipHostname, "do not compare the name in a server's certificate with its address; who signed it is still checked")
	default:
		return false
	}
	return true
}

func (s *Settings) shared(f flags) bool {
	switch f.name {
	case "redis-budget":
		f.span(&s.Shared.Budget, redis.DefaultBudget, "longest `time` that a request waits for Redis; then on_error of its rules decides")
	case "redis-key-prefix":
		f.text(&s.Shared.KeyPrefix, redis.DefaultKeyPrefix, "`text` that every key begins with")
	case "redis-hash-keys":
		f.text(&s.Shared.HashKeys, "", "`file` with a secret that keys are hashed with, so that descriptors' values are not in Redis")
	case "redis-persecond":
		f.yes(&s.Legacy.PerSecond, "with --compat: count rules of one second in a Redis of their own")
	default:
		return false
	}
	return true
}

// legacy are the settings of envoyproxy/ratelimit's counters and of the memory.
func (s *Settings) legacy(f flags) bool {
	switch f.name {
	case "ready-without-redis":
		f.yes(&s.Shared.ReadyWithout, "serve before Redis has answered once; on_error of the rules decides meanwhile")
	case "over-limit-cache":
		f.set.BoolVar(&s.Shared.OverLimitCache, f.name, true, "answer for a key that Redis has just refused without asking again, a second at most")
	case "compat-key-prefix":
		f.text(&s.Legacy.KeyPrefix, "", "with --compat and Redis: `text` that the keys shared with envoyproxy/ratelimit begin with")
	case "compat-key-jitter":
		f.set.Int64Var(&s.Legacy.Jitter, f.name, defaultJitter, "with --compat and Redis: bound of the random `seconds` that these keys live longer")
	case "compat-cache-bytes":
		f.set.IntVar(&s.Legacy.CacheBytes, f.name, 0, "with --compat and Redis: `bytes` for keys known to be over until their window ends; 0: none are kept")
	case "compat-stop-increment":
		f.yes(&s.Legacy.StopIncrement, "with --compat and Redis: a request with a rule that is over adds nothing to its other counters; one trip more")
	default:
		return false
	}
	return true
}

const defaultJitter = 300 // s

// check says what is wrong with one Redis, in words that show no secret.
func (r *Redis) check(flag string) error {
	switch {
	case r.URL == "":
		return fmt.Errorf("%s-url is missing; --backend redis needs it", flag)
	case r.PoolSize < 0:
		return fmt.Errorf("%s-pool-size is %d, must not be negative", flag, r.PoolSize)
	case (r.Cert == "") != (r.Key == ""):
		return errors.New("--redis-tls-cert and --redis-tls-key must be given together")
	case r.Auth != "" && r.Username != "":
		return fmt.Errorf("%[1]s-auth and %[1]s-username exclude each other; %[1]s-auth takes user:password", flag)
	case r.Password != "" && r.PasswordFile != "", r.Auth != "" && r.Password+r.PasswordFile != "":
		return fmt.Errorf("%s-auth, -password and -password-file exclude each other", flag)
	case r.SentinelAuth != "" && r.SentinelFile != "":
		return fmt.Errorf("%[1]s-sentinel-auth and %[1]s-sentinel-password-file exclude each other", flag)
	}
	return nil
}

// encrypted says whether connections are.
func (r *Redis) encrypted() bool {
	return r.TLS || strings.HasPrefix(r.URL, "rediss") && strings.Contains(r.URL, "://")
}

// checkRedis checks what the redis backend is told.
func (s *Settings) checkRedis() error {
	if err := s.Redis.check("--redis"); err != nil {
		return err
	}
	encrypted := s.Redis.encrypted() || s.Legacy.PerSecond && s.Legacy.Second.encrypted()
	switch {
	case !encrypted && !s.Redis.Plain && s.Redis.CA+s.Redis.Cert+s.Redis.Key != "":
		return errors.New("--redis-tls-ca, --redis-tls-cert and --redis-tls-key are for encrypted connections; " +
			"give a rediss:// URL or --redis-tls, or else --redis-tls=false")
	case s.Shared.Budget <= 0:
		return fmt.Errorf("--redis-budget is %v, must be positive", s.Shared.Budget)
	case s.Legacy.Jitter < 0 || s.Legacy.CacheBytes < 0:
		return errors.New("--compat-key-jitter and --compat-cache-bytes must not be negative")
	case s.Legacy.PerSecond:
		return s.Legacy.Second.check("--redis-persecond")
	}
	return nil
}
