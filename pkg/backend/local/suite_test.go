package local

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, c backendtest.Config) backend.Backend {
		return newStore(t, Options{Now: c.Now, SweepEvery: time.Hour})
	})
}
