package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
)

// Defaults of Options.
const (
	DefaultBudget    = 15 * time.Millisecond
	DefaultReserve   = time.Millisecond
	DefaultKeyPrefix = "rls"
	DefaultPoolSize  = 3
)

// Mode is how the addresses of Options are meant.
type Mode uint8

// The modes.
const (
	Single   Mode = iota // the one server that keeps everything
	Sentinel             // sentinels that know the server
	Cluster              // some nodes of a cluster
)

// Credentials are asked for whenever a connection is made, so that they may
// change; both may be empty.
type Credentials func() (user, password string, err error)

// Options of the backend. Addrs is required.
type Options struct {
	Mode Mode
	// Addrs are host:port each. That of a Single server may be the path of a socket.
	Addrs []string
	// Master is the name that sentinels know the server by.
	Master string
	// Database is the number of the database; a cluster has only 0.
	Database int
	// Credentials are those of servers, SentinelCredentials those of sentinels; nil: none.
	Credentials, SentinelCredentials Credentials
	// TLS is for servers and sentinels; nil: connections are not encrypted.
	TLS *tls.Config
	// PoolSize is the most connections to a node, DefaultPoolSize if it is not
	// positive. Decisions share one; readiness and probes use others. What replicas
	// share takes one more.
	PoolSize int
	// Budget is the longest that a request waits, DefaultBudget if it is not positive.
	Budget time.Duration
	// Reserve is what is left of a request's deadline for its answer,
	// DefaultReserve if it is not positive.
	Reserve time.Duration
	// KeyPrefix begins every key, DefaultKeyPrefix if it is empty. It has no braces.
	KeyPrefix string
	// HashKey is the secret that keys are hashed with, by HMAC of SHA-256; empty:
	// keys can be read.
	HashKey []byte
	// Local decides asks of OnErrorLocal that Redis did not; nil refuses them.
	Local backend.Backend
	// Now is the clock that decides, in ns since the epoch; nil is Redis' own, as
	// it has to be where several processes share keys.
	Now func() int64
	// Warn hears of settings of a server that make limits inexact; nil ignores them.
	Warn func(message string)
}

// check fills in defaults and says what is wrong.
func (o *Options) check() error {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Reserve <= 0 {
		o.Reserve = DefaultReserve
	}
	if o.PoolSize <= 0 {
		o.PoolSize = DefaultPoolSize
	}
	if o.KeyPrefix == "" {
		o.KeyPrefix = DefaultKeyPrefix
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	switch {
	case tagged(o.KeyPrefix):
		return fmt.Errorf("key prefix is %q, must have no braces", o.KeyPrefix)
	case len(o.Addrs) == 0:
		return errors.New("redis has no address")
	case slices.ContainsFunc(o.Addrs, func(addr string) bool { return !strings.HasPrefix(addr, "/") && strings.Contains(addr, "@") }):
		return errors.New("an address of redis has an @: a password belongs into a URL such as redis://user:password@host, or into a file")
	case o.Mode == Single && len(o.Addrs) > 1:
		return fmt.Errorf("a single redis has %d addresses, must have one", len(o.Addrs))
	case o.Mode == Sentinel && o.Master == "":
		return errors.New("redis sentinels need the name of a master")
	case o.Mode == Cluster && o.Database != 0:
		return fmt.Errorf("database is %d, must be 0 in a cluster", o.Database)
	case o.Mode > Cluster:
		return fmt.Errorf("mode is %d, must be at most %d", o.Mode, Cluster)
	case o.Database < 0:
		return fmt.Errorf("database is %d, must not be negative", o.Database)
	}
	return nil
}
