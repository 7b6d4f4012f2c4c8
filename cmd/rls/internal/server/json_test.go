package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

// TestJSONUndecided: a request that no rule decided is 503, but for compat mode,
// and a bad one 400.
func TestJSONUndecided(t *testing.T) {
	t.Parallel()
	const good = `{"domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "v"}]}]}`
	for _, row := range []struct {
		name, compat, body, want string
		status                   int
	}{
		{"undecided", "", good, "no rules are loaded yet, see the log of rls\n", http.StatusServiceUnavailable},
		{"undecided, compat", "envoyproxy", good, "Bad Request\n", http.StatusBadRequest},
		{"malformed", "", "{", "Bad Request\n", http.StatusBadRequest},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &Server{
				settings: &settings.Settings{Compat: row.compat}, log: zap.NewNop(),
				service: service.New(service.Config{
					Rules: func() *rules.Set { return nil }, Metrics: telemetry.New("test"), Log: zap.NewNop(), Now: time.Now,
				}),
			}
			w := httptest.NewRecorder()
			s.serveJSON(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/json", strings.NewReader(row.body)))
			if w.Code != row.status || w.Body.String() != row.want {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, row.status, row.want)
			}
		})
	}
}
