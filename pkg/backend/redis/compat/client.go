package compat

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

const (
	poolSize    = 10 // connections to each node, as envoyproxy/ratelimit has by default
	dialTimeout = time.Second
)

// NewClient makes a client of what o says of servers. It never sends a command twice, since
// that would count twice.
func NewClient(o *redis.Options) (goredis.UniversalClient, error) {
	u := &goredis.UniversalOptions{
		Addrs: o.Addrs, DB: o.Database, TLSConfig: o.TLS,
		MasterName: o.Master, IsClusterMode: o.Mode == redis.Cluster,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1,
		DialTimeout:              dialTimeout, DialerRetries: 1,
		ContextTimeoutEnabled: true,
		PoolSize:              max(o.PoolSize, poolSize),
	}
	if o.Credentials != nil {
		u.CredentialsProviderContext = func(context.Context) (string, string, error) { return o.Credentials() }
	}
	if o.SentinelCredentials != nil {
		// Unlike the others, these are asked for only once.
		var err error
		if u.SentinelUsername, u.SentinelPassword, err = o.SentinelCredentials(); err != nil {
			return nil, err
		}
	}
	return goredis.NewUniversalClient(u), nil
}
