// Package server puts the parts together: it loads rules, listens, serves and
// ends in order.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/reflection"

	"github.com/eb50146d/rls/cmd/rls/internal/certs"
	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/cmd/rls/internal/store"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
)

// pollRules is how often the rule files are looked at; a change is in force
// after two of these.
const pollRules = 500 * time.Millisecond

// maxStreams is how many requests one connection may have under way: many times
// what an Envoy has, and a bound on what unfinished ones hold.
const maxStreams = 1000

// headerTimeout is how long an HTTP caller may take to send its headers, and a
// gRPC caller to begin.
const headerTimeout = 5 * time.Second

// How long an HTTP caller may take for a whole request, and be idle between two.
const (
	readTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
)

func newWeb(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout}
}

// maxRequest is the largest message that is read, in bytes: more than Envoy's
// header limits allow, and little enough that an odd one does not fill memory.
const maxRequest = 1 << 20

// Server is one rls process.
type Server struct {
	settings *settings.Settings
	log      *zap.Logger
	metrics  *telemetry.Metrics
	loader   *rules.Loader
	store    *store.Store
	certs    *certs.Server // of the gRPC port; nil: it is not encrypted
	steering *steer.Steering
	book     *feedback.Book
	feedback *feedback.Service
	allow    feedback.Allow
	health   *health.Server
	service  *service.Service
	grpc     *grpc.Server
	http     *http.Server
	adminWeb *http.Server
	grpcAt   net.Listener
	httpAt   net.Listener
	adminAt  net.Listener
	leaving  atomic.Bool
	now      func() time.Time
	answered atomic.Bool // the store has, once
}

// New loads the rules and opens the ports; an address that is taken or a
// directory that cannot be read is an error. Rules with an error are not: the
// server then answers UNAVAILABLE until they are mended.
func New(ctx context.Context, s *settings.Settings, version string, log *zap.Logger, now func() time.Time) (*Server, error) {
	m := telemetry.New(version)
	options := rules.Options{Compat: s.Compat != "", MergeDomains: s.MergeDomains}
	srv := &Server{
		settings: s, log: log, metrics: m, health: health.NewServer(), now: now,
		loader: rules.NewLoader(s.Config, options, m, log, now),
	}
	if err := srv.secure(); err != nil {
		return nil, err
	}
	var err error
	if srv.store, err = store.Open(s, storeClock(), log); err != nil {
		return nil, err
	}
	srv.adapt()
	if err := srv.loader.Load(); err != nil {
		return nil, errors.Join(err, srv.store.Close())
	}
	if err := srv.listen(ctx); err != nil {
		return nil, errors.Join(err, srv.store.Close())
	}
	if srv.store.Redis == nil {
		m.StateResets.Inc()
		log.Info("every limit begins unused: states are kept in this process and ended with the one before", zap.String("backend", s.Backend))
	}
	srv.gauges()
	srv.service = service.New(service.Config{
		Rules: srv.loader.Active, Store: srv.store, Metrics: m, Log: log, Now: now,
		Options:  service.Options{Shadow: s.Shadow, Quota: s.Quota, Legacy: srv.store.Legacy},
		Describe: s.ResponseMetadata, LogValues: s.LogValues,
		Headers: service.Headers{
			RetryAfter: slices.Contains(s.ResponseHeaders, "retry-after"),
			XRateLimit: slices.Contains(s.ResponseHeaders, "x-ratelimit"),
			IETF:       slices.Contains(s.ResponseHeaders, "ietf"),
			Limit:      s.LimitHeader, Remaining: s.RemainingHeader, Reset: s.ResetHeader,
		},
	})
	srv.serveGRPC()
	srv.serveHTTP()
	return srv, nil
}

// secure reads the certificates of the gRPC port, if it has any, and who may report.
func (s *Server) secure() (err error) {
	if s.allow, err = feedback.ParseAllow(s.settings.FeedbackAllow); err != nil {
		return fmt.Errorf("--feedback-allow: %w", err)
	}
	if s.allow.Names() && s.settings.GRPCTLS.ClientCA == "" {
		return errors.New("--feedback-allow has a name of a certificate, which needs --grpc-tls-client-ca")
	}
	if t := &s.settings.GRPCTLS; t.Use {
		files := certs.Files{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, ClientName: t.ClientName}
		if s.certs, err = certs.NewServer(files, s.log, s.now); err != nil {
			return fmt.Errorf("--grpc-tls: %w", err)
		}
	}
	return nil
}

// listen opens all ports, or none.
func (s *Server) listen(ctx context.Context) error {
	var config net.ListenConfig
	var open []net.Listener
	for _, l := range []struct {
		flag, address string
		to            *net.Listener
	}{
		{"--grpc-addr", s.settings.GRPCAddr, &s.grpcAt},
		{"--http-addr", s.settings.HTTPAddr, &s.httpAt},
		{"--admin-addr", s.settings.AdminAddr, &s.adminAt},
	} {
		if l.address == "" {
			continue
		}
		listener, err := config.Listen(ctx, "tcp", l.address)
		if err != nil {
			for _, o := range open {
				err = errors.Join(err, o.Close())
			}
			return fmt.Errorf("%s: %w", l.flag, err)
		}
		*l.to = listener
		open = append(open, listener)
	}
	return nil
}

// workers is how many goroutines serve calls one after the other. Their stacks are
// reused: growing a fresh one is a fifth of a small call's cost. A stream of reports
// or of an access log holds a worker for as long as it is open, so with more than 56
// streams requests pay for fresh stacks again. Requests go round all idle workers,
// which is as dear from 128 on.
const workers = 64

func grpcOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec.New()),
		grpc.NumStreamWorkers(workers),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(headerTimeout),
	}
}

func (s *Server) serveGRPC() {
	options := grpcOptions()
	if s.certs != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.certs.Config())))
	}
	s.grpc = grpc.NewServer(options...)
	s.service.Register(s.grpc)
	s.feedback.Register(s.grpc)
	registerHealth(s.grpc, s.health)
	reflection.Register(s.grpc)
}

func (s *Server) serveHTTP() {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.metrics.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/json", s.serveJSON)
	mux.HandleFunc("/healthcheck", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("OK"))
	})
	s.http = newWeb(mux)
	s.adminWeb = newWeb(s.admin())
}

// GRPCAddr is where the gRPC services listen.
func (s *Server) GRPCAddr() net.Addr { return s.grpcAt.Addr() }

// Rules is the active set; nil if none could be loaded yet.
func (s *Server) Rules() *rules.Set { return s.loader.Active() }
