package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
)

// scanned is how many keys Redis looks at in one step.
const scanned = 1000

// OpenReplay opens an empty backend on the clock now. With Redis its keys have a
// prefix that no other run has; close removes them.
func OpenReplay(ctx context.Context, s *settings.Settings, now func() int64) (b backend.Backend, closing func() error, err error) {
	keep := local.New(local.Options{Now: now, MaxKeys: s.LocalMaxKeys, SweepEvery: math.MaxInt64}) // the sweeper would go by the wall clock
	st := &Store{Backend: keep, Local: keep}
	if s.Backend != "redis" {
		return st, st.Close, nil
	}
	o, err := options(s)
	if err != nil {
		return nil, nil, errors.Join(err, keep.Close())
	}
	o.Local, o.Now = keep, now
	o.KeyPrefix += "-replay-" + rand.Text() + "-"
	if st.Redis, err = redis.New(o); err != nil {
		return nil, nil, errors.Join(err, keep.Close())
	}
	st.Backend = st.Redis
	if err := st.Ready(ctx); err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, func() error { return errors.Join(st.Close(), remove(ctx, &o)) }, nil
}

// remove removes all keys with the prefix of o.
func remove(ctx context.Context, o *redis.Options) error {
	client, err := compat.NewClient(o)
	if err != nil {
		return err
	}
	from := func(ctx context.Context, node *goredis.Client) error {
		keys := node.Scan(ctx, 0, o.KeyPrefix+"*", scanned).Iterator()
		for keys.Next(ctx) {
			if err := node.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		return keys.Err()
	}
	switch c := client.(type) {
	case *goredis.ClusterClient:
		err = c.ForEachMaster(ctx, from)
	case *goredis.Client:
		err = from(ctx, c)
	default:
		err = fmt.Errorf("a client of kind %T", client)
	}
	if err != nil {
		err = fmt.Errorf("removing the keys %s*: %w", o.KeyPrefix, err)
	}
	return errors.Join(err, client.Close())
}
