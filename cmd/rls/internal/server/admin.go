package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

// admin is the operator's port. It shows rules, so it listens on this machine
// alone unless told otherwise; profiles only on request.
func (s *Server) admin() http.Handler {
	mux := http.NewServeMux()
	pages := []struct {
		path, what string
		show       http.HandlerFunc
	}{
		{"/rlconfig", "every limit, a line each", s.showRules},
		{"/config", "which rules are in force, since when, and what the last load said", s.showConfig},
	}
	if s.settings.PProf {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	for _, p := range pages {
		mux.HandleFunc(p.path, p.show)
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		for _, p := range pages {
			_, _ = fmt.Fprintf(w, "%s: %s\n", p.path, p.what)
		}
		if s.settings.PProf {
			_, _ = fmt.Fprintln(w, "/debug/pprof/: profiles of this process")
		}
	})
	return mux
}

// showRules is /rlconfig as envoyproxy/ratelimit writes it, in the files' order.
func (s *Server) showRules(w http.ResponseWriter, _ *http.Request) {
	set := s.loader.Active()
	if set == nil {
		return
	}
	for _, r := range set.Tree.Rules {
		_, _ = fmt.Fprintf(w, "%s: unit=%s requests_per_unit=%d, shadow_mode: %t, quota_mode: %t\n",
			telemetry.Printable(r.Path), strings.ToUpper(r.Unit.String()), r.RequestsPerUnit, r.Shadow, r.Quota)
	}
}

// showConfig is /config.
func (s *Server) showConfig(w http.ResponseWriter, _ *http.Request) {
	state := s.loader.State()
	body := struct {
		Source   string     `json:"source"`
		Version  int        `json:"version"` // how many loads have succeeded
		Hash     string     `json:"hash,omitempty"`
		LoadedAt *time.Time `json:"loaded_at,omitempty"`
		Rules    int        `json:"rules"`
		Errors   []string   `json:"errors,omitempty"` // of the last load, if it failed
	}{Source: s.settings.Config, Errors: state.Errors}
	if set := state.Active; set != nil {
		body.Version, body.Hash, body.LoadedAt, body.Rules = set.Version, set.Hash, &set.LoadedAt, len(set.Tree.Rules)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.log.Debug("writing /config", zap.Error(err))
	}
}
