// Package store opens the backend that the settings ask for.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
)

// readyTimeout is how long Redis may take to say that it is ready.
const readyTimeout = time.Second

// Store is a backend and the parts that it is made of.
type Store struct {
	backend.Backend

	Local    *local.Local    // the backend, or what decides for on_error: local
	Redis    *redis.Redis    // nil: not used
	Refusals *redis.Refusals // nil: not used
	// Legacy says that rules which count as envoyproxy/ratelimit does share its keys.
	Legacy bool
}

// Open opens the backend of a server. Now is the clock of states in this process;
// nil is their own. Nothing has to be reachable yet.
func Open(s *settings.Settings, now func() int64, log *zap.Logger) (*Store, error) {
	keep := local.New(local.Options{Now: now, MaxKeys: s.LocalMaxKeys})
	st := &Store{Backend: keep, Local: keep}
	if s.Backend != "redis" {
		if s.Redis.URL != "" {
			log.Warn("--redis-url is given, but --backend is local: each replica counts for itself; --backend redis shares limits")
		}
		return st, nil
	}
	if err := st.share(s, now, log); err != nil {
		return nil, errors.Join(err, keep.Close())
	}
	return st, nil
}

// share puts Redis before the states of this process.
func (st *Store) share(s *settings.Settings, now func() int64, log *zap.Logger) error {
	o, err := options(s)
	if err != nil {
		return err
	}
	o.Local = st.Local
	o.Warn = func(message string) { log.Warn("redis", zap.String("finding", message)) }
	if st.Redis, err = redis.New(o); err != nil {
		return err
	}
	st.Backend = st.Redis
	if s.Shared.OverLimitCache {
		st.Refusals = redis.NewRefusals(st.Backend, redis.RefusalOptions{})
		st.Backend = st.Refusals
	}
	if s.Compat == "" {
		return nil
	}
	c := compat.Options{
		Redis: o, KeyPrefix: s.Legacy.KeyPrefix, Jitter: s.Legacy.Jitter, StopIncrement: s.Legacy.StopIncrement,
		CacheBytes: s.Legacy.CacheBytes, Next: st.Backend, Now: now,
	}
	if s.Legacy.PerSecond {
		more, err := secondOptions(s)
		if err != nil {
			return errors.Join(err, st.Redis.Close())
		}
		c.PerSecond = &more
	}
	legacy, err := compat.New(c)
	if err != nil {
		return errors.Join(err, st.Redis.Close())
	}
	st.Backend, st.Legacy = legacy, true
	return nil
}

// secondOptions are those of the Redis for rules of one second, which has the
// certificates of the other.
func secondOptions(s *settings.Settings) (redis.Options, error) {
	second := s.Legacy.Second
	second.CA, second.Cert, second.Key, second.SkipHostname = s.Redis.CA, s.Redis.Cert, s.Redis.Key, s.Redis.SkipHostname
	return serverOptions(&second, "--redis-persecond")
}

// Ready says whether requests can be decided now.
func (st *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return st.Backend.Ready(ctx)
}

// Close closes all parts.
func (st *Store) Close() error {
	if st.Redis == nil {
		return st.Local.Close()
	}
	return errors.Join(st.Backend.Close(), st.Local.Close())
}

// options are those of the redis backend.
func options(s *settings.Settings) (redis.Options, error) {
	o, err := serverOptions(&s.Redis, "--redis")
	if err != nil {
		return o, err
	}
	o.Budget, o.KeyPrefix = s.Shared.Budget, s.Shared.KeyPrefix
	if s.Shared.HashKeys != "" {
		secret, err := readSecret(s.Shared.HashKeys)
		if err != nil {
			return o, fmt.Errorf("--redis-hash-keys: %w", err)
		}
		o.HashKey = []byte(secret)
	}
	return o, nil
}
