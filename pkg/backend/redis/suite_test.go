package redis_test

import (
	"testing"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, c backendtest.Config) backend.Backend {
		return open(t, shared.shared, redis.Options{Now: c.Now})
	})
}
