package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
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

// patience is how long Run waits for its own goroutines once all ports are
// closed: a read of a file on a dead mount may never return.
const patience = time.Second

// Run serves until a signal and returns when everything has ended.
func (s *Server) Run(signals Signals) error {
	defer runtime.KeepAlive(ballast())
	ctx, cancel := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	failed := make(chan error, 3)
	if s.store.Redis != nil {
		s.steering.Tick(ctx) // before the first request: the limits are where the other replicas have them
	}
	workers.Go(func() { s.loader.Watch(ctx, pollRules) })
	workers.Go(func() { s.watchHealth(ctx) })
	workers.Go(func() { s.steering.Run(ctx) })
	workers.Go(func() { failed <- s.grpc.Serve(s.grpcAt) })
	for web, at := range s.webs() {
		workers.Go(func() {
			if err := web.Serve(at); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	var err error
	hurried := false
	select {
	case <-signals.Drain:
		hurried = s.drain(signals)
	case <-signals.Stop:
	case err = <-failed:
	}
	cancel()
	s.leave()
	s.stop(signals, hurried)
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		close(ended)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		s.log.Warn("reading the rule files has not ended; leaving it")
	}
	return errors.Join(err, s.store.Close())
}

// webs are the HTTP servers and where they listen.
func (s *Server) webs() map[*http.Server]net.Listener {
	webs := map[*http.Server]net.Listener{s.http: s.httpAt}
	if s.adminAt != nil {
		webs[s.adminWeb] = s.adminAt
	}
	return webs
}

// drain goes on serving while whoever asks for health learns that it should stop
// sending. It says whether another signal cut it short.
func (s *Server) drain(signals Signals) (hurried bool) {
	s.leave()
	s.log.Info("draining", zap.Duration("delay", s.settings.DrainDelay))
	timer := time.NewTimer(s.settings.DrainDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-signals.Drain:
	case <-signals.Stop:
	}
	return true
}

// leave makes every health check say that this process should get no more
// requests; it cannot be taken back.
func (s *Server) leave() {
	s.leaving.Store(true)
	s.health.Shutdown()
}

// stop lets the requests under way end, on all ports, for the drain timeout at
// most; not at all if it is hurried.
func (s *Server) stop(signals Signals, hurried bool) {
	ctx, cancel := context.WithTimeout(context.Background(), s.settings.DrainTimeout)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var ports sync.WaitGroup
		s.feedback.Close() // streams that no caller would end
		ports.Go(s.grpc.GracefulStop)
		for web := range s.webs() {
			ports.Go(func() {
				if err := web.Shutdown(ctx); err != nil {
					web.Close() //nolint:errcheck // what is left of it
				}
			})
		}
		ports.Wait()
	}()
	if !hurried {
		select {
		case <-done:
		case <-ctx.Done():
		case <-signals.Drain:
		case <-signals.Stop:
		}
	}
	cancel()
	s.grpc.Stop()
	<-done
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
		answered := s.answered.Load()
		switch err := s.askStore(ctx); {
		case err == nil && !answered && s.store.Redis != nil:
			s.log.Info("redis is ready")
		case err != nil && s.now().Sub(logged) >= logWaiting:
			logged = s.now()
			s.log.Warn("redis is not ready", zap.Error(err), zap.Bool("ready", s.ready()))
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
