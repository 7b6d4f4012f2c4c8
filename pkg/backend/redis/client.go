package redis

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = time.Second      // no request waits for it longer than its own patience
	maxIdle     = 30 * time.Second // what lies between may forget a connection after a minute
)

// quiet silences the logger that all clients of go-redis share; errors are
// returned and counted here.
var quiet = sync.OnceFunc(func() { goredis.SetLogger(silence{}) }) //nolint:gochecknoglobals // as the logger is global

type silence struct{}

// Printf implements the logger of go-redis.
func (silence) Printf(context.Context, string, ...any) {}

// clientOptions are those of a client that never runs a command twice.
func clientOptions(o *Options, addr string) *goredis.Options {
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	c := &goredis.Options{
		Network: network, Addr: addr, DB: o.Database, TLSConfig: o.TLS,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, // a call whose fate is unknown must not run again
		DialerRetries:            1,
		DialTimeout:              dialTimeout,
		ReadTimeout:              o.Budget,
		WriteTimeout:             o.Budget,
		ContextTimeoutEnabled:    true,
		PoolSize:                 o.PoolSize,
		PipelinePoolSize:         -1, // one pool for all
		ConnMaxIdleTime:          maxIdle,
	}
	if o.Credentials != nil {
		c.CredentialsProviderContext = func(context.Context) (string, string, error) { return o.Credentials() }
	}
	return c
}

// dialer dials as o says.
func dialer(o *Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: dialTimeout}
	if o.TLS == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: o.TLS}).DialContext
}
