// Package server puts the parts together: it loads rules, listens, serves and
// ends in order.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/reflection"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend/local"
)

// pollRules is how often the rule files are looked at; a change is in force
// after two of these.
const pollRules = 500 * time.Millisecond

// maxRequest is the largest message that is read, in bytes: more than Envoy's
// header limits allow, and little enough that an odd one does not fill memory.
const maxRequest = 1 << 20

// Server is one rls process.
type Server struct {
	settings *settings.Settings
	log      *zap.Logger
	metrics  *telemetry.Metrics
	loader   *rules.Loader
	store    *local.Local
	health   *health.Server
	grpc     *grpc.Server
	http     *http.Server
	grpcAt   net.Listener
	httpAt   net.Listener
	leaving  atomic.Bool
}

// New loads the rules and opens the ports; an address that is taken or a
// directory that cannot be read is an error. Rules with an error are not: the
// server then answers UNAVAILABLE until they are mended.
func New(ctx context.Context, s *settings.Settings, version string, log *zap.Logger, now func() time.Time) (*Server, error) {
	m := telemetry.New(version)
	srv := &Server{settings: s, log: log, metrics: m, loader: rules.NewLoader(s.Config, m, log, now), health: health.NewServer()}
	if err := srv.loader.Load(); err != nil {
		return nil, err
	}
	if err := srv.listen(ctx); err != nil {
		return nil, err
	}
	srv.store = local.New(local.Options{MaxKeys: s.LocalMaxKeys})
	srv.gauges()
	srv.serveGRPC(service.New(service.Config{
		Rules: srv.loader.Active, Store: srv.store, Metrics: m, Log: log, Now: now,
	}))
	srv.serveHTTP()
	return srv, nil
}

func (s *Server) listen(ctx context.Context) (err error) {
	var config net.ListenConfig
	if s.grpcAt, err = config.Listen(ctx, "tcp", s.settings.GRPCAddr); err != nil {
		return fmt.Errorf("--grpc-addr: %w", err)
	}
	if s.httpAt, err = config.Listen(ctx, "tcp", s.settings.HTTPAddr); err != nil {
		return fmt.Errorf("--http-addr: %w", errors.Join(err, s.grpcAt.Close()))
	}
	return nil
}

func (s *Server) serveGRPC(rls *service.Service) {
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(codec.New()),
		grpc.NumStreamWorkers(8), // reused stacks: growing fresh ones is a fifth of a small call's cost
		grpc.SharedWriteBuffer(true),
		grpc.MaxRecvMsgSize(maxRequest),
	)
	rls.Register(s.grpc)
	registerHealth(s.grpc, s.health)
	reflection.Register(s.grpc)
}

func (s *Server) serveHTTP() {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthcheck", func(w http.ResponseWriter, r *http.Request) {
		if !s.ready(r.Context()) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("OK")) //nolint:errcheck // the caller has gone
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
}

func (s *Server) gauges() {
	s.metrics.Gauge("local_keys", "Keys that the local backend holds.", func() float64 { return float64(s.store.Stats().Keys) })
	s.metrics.Gauge("local_max_keys", "Keys that the local backend may hold.", func() float64 { return float64(s.store.Stats().MaxKeys) })
	s.metrics.Gauge("local_memory_bytes", "Memory of the local backend's states.", func() float64 { return float64(s.store.Stats().MemoryBytes) })
	s.metrics.Counter("local_evictions_total", "Keys put out before their time because the local backend was full.",
		func() float64 { return float64(s.store.Stats().Evictions) })
	s.metrics.Counter("local_overflow_decisions_total", "Decisions on a shared state because the local backend was full of keys at their limit.",
		func() float64 { return float64(s.store.Stats().OverflowDecisions) })
}

// GRPCAddr is where the gRPC services listen.
func (s *Server) GRPCAddr() net.Addr { return s.grpcAt.Addr() }

// Rules is the active set; nil if none could be loaded yet.
func (s *Server) Rules() *rules.Set { return s.loader.Active() }
