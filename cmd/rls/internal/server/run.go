package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/eb50146d/rls/cmd/rls/internal/service"
)

// healthNames are what a health check may ask for: all of rls, Envoy's service,
// or that by the name that envoyproxy/ratelimit gave it.
var healthNames = []string{"", service.Name, "ratelimit"}

func registerHealth(to *grpc.Server, h *health.Server) {
	healthpb.RegisterHealthServer(to, h)
	setHealth(h, false)
}

func setHealth(h *health.Server, serving bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthpb.HealthCheckResponse_SERVING
	}
	for _, name := range healthNames {
		h.SetServingStatus(name, status)
	}
}

// Signals are the two ways to end: Drain goes on serving for the drain delay
// first, Stop does not. Either may come while the other is being obeyed; a
// second Stop or Drain ends at once.
type Signals struct{ Drain, Stop <-chan struct{} }

// Run serves until a signal and returns when everything has ended.
func (s *Server) Run(signals Signals) error {
	ctx, cancel := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	failed := make(chan error, 3)
	workers.Go(func() { s.loader.Watch(ctx, pollRules) })
	workers.Go(func() { s.watchHealth(ctx) })
	workers.Go(func() { failed <- s.grpc.Serve(s.grpcAt) })
	serve := func(web *http.Server, at net.Listener) {
		if err := web.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}
	workers.Go(func() { serve(s.http, s.httpAt) })
	workers.Go(func() { serve(s.adminWeb, s.adminAt) })
	var err error
	select {
	case <-signals.Drain:
		s.drain(signals)
	case <-signals.Stop:
	case err = <-failed:
	}
	cancel()
	s.leave()
	s.stop(signals)
	workers.Wait()
	return errors.Join(err, s.store.Close())
}

// drain goes on serving while whoever asks for health learns that it should stop
// sending.
func (s *Server) drain(signals Signals) {
	s.leave()
	s.log.Info("draining", zap.Duration("delay", s.settings.DrainDelay))
	timer := time.NewTimer(s.settings.DrainDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-signals.Drain:
	case <-signals.Stop:
	}
}

// leave makes every health check say that this process should get no more
// requests; it cannot be taken back.
func (s *Server) leave() {
	s.leaving.Store(true)
	s.health.Shutdown()
}

// stop lets the requests under way end, for the drain timeout at most.
func (s *Server) stop(signals Signals) {
	timer := time.NewTimer(s.settings.DrainTimeout)
	defer timer.Stop()
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-timer.C:
	case <-signals.Drain:
	case <-signals.Stop:
	}
	s.grpc.Stop()
	<-done
	if err := errors.Join(s.http.Close(), s.adminWeb.Close()); err != nil {
		s.log.Warn("closing the HTTP ports", zap.Error(err))
	}
	s.log.Info("stopped")
}

// logWaiting is the least time between two lines about a store that is awaited.
const logWaiting = 5 * time.Second

// watchHealth keeps the health service's answer true. After Shutdown the health
// service ignores it.
func (s *Server) watchHealth(ctx context.Context) {
	ticker := time.NewTicker(pollRules)
	defer ticker.Stop()
	var logged time.Time
	for {
		if err := s.askStore(ctx); err != nil && s.now().Sub(logged) >= logWaiting {
			logged = s.now()
			s.log.Warn("redis does not answer yet", zap.Error(err), zap.Bool("ready", s.ready()))
		}
		setHealth(s.health, s.ready())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// askStore asks until the store has answered once.
func (s *Server) askStore(ctx context.Context) error {
	if s.answered.Load() {
		return nil
	}
	err := s.store.Ready(ctx)
	s.answered.Store(err == nil)
	return err
}

// ready says whether this process should get requests. The store has to have
// answered once, unless told otherwise; when it is lost later, on_error of the
// rules decides, which another replica could do no better.
func (s *Server) ready() bool {
	return !s.leaving.Load() && s.loader.Active() != nil && (s.answered.Load() || s.settings.Shared.ReadyWithout)
}
