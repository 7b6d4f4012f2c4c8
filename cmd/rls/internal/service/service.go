package service

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	_ "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3" // its descriptors, for reflection
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend"
)

// Name is the full name of Envoy's service.
const Name = "envoy.service.ratelimit.v3.RateLimitService"

// Config is what a Service needs.
type Config struct {
	// Rules is the active set; nil as long as none was loaded.
	Rules   func() *rules.Set
	Store   backend.Backend
	Metrics *telemetry.Metrics
	Log     *zap.Logger
	Now     func() time.Time
}

// Service is Envoy's RateLimitService. It is safe for concurrent use.
type Service struct {
	Config
	work   sync.Pool // of *work
	counts counts
}

// work is the memory of one request, used again by the next.
type work struct {
	request    codec.Request
	evaluation Evaluation
}

// New makes a Service.
func New(c Config) *Service {
	return &Service{Config: c, counts: newCounts(c.Metrics), work: sync.Pool{New: func() any { return new(work) }}}
}

// Register adds the service to a gRPC server, which must use the codec package's
// Codec.
func (s *Service) Register(to grpc.ServiceRegistrar) {
	to.RegisterService(&grpc.ServiceDesc{
		ServiceName: Name,
		HandlerType: (*decider)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handle}},
		Metadata:    "envoy/service/ratelimit/v3/rls.proto",
	}, s)
}

type decider interface {
	shouldRateLimit(ctx context.Context, q *codec.Request, e *Evaluation) (*codec.Response, error)
}

func handle(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // gRPC's order
	s, ok := srv.(*Service)
	if !ok {
		return nil, status.Error(codes.Internal, "not a rate limit service")
	}
	started := s.Now()
	w, ok := s.work.Get().(*work)
	if !ok {
		w = new(work)
	}
	defer func() {
		w.request.Reset()
		s.work.Put(w)
	}()
	if err := decode(&w.request); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the message is malformed: %v", err)
	}
	answer, err := s.shouldRateLimit(ctx, &w.request, &w.evaluation)
	s.Metrics.Duration.Observe(float64(s.Now().Sub(started)) / float64(time.Microsecond))
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// shouldRateLimit answers one request. Its errors are gRPC statuses, never of
// code UNKNOWN; a panic becomes INTERNAL, so that the caller's failure mode
// decides.
func (s *Service) shouldRateLimit(ctx context.Context, q *codec.Request, e *Evaluation) (answer *codec.Response, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.Log.Error("panic while deciding", zap.Any("fault", fault), zap.ByteString("stack", debug.Stack()))
			answer, err = nil, status.Error(codes.Internal, "rls failed while deciding, see its log")
		}
		s.counts.request(e, err)
	}()
	set := s.Rules()
	if set == nil {
		return nil, status.Error(codes.Unavailable, "no rules are loaded yet, see the log of rls")
	}
	if err := e.Run(ctx, set, s.Store, q); err != nil {
		return nil, toStatus(err)
	}
	s.counts.decisions(e)
	if log := s.Log.Check(zap.DebugLevel, "decided"); log != nil {
		log.Write(zap.String("domain", q.Domain), zap.Any("descriptors", q.Descriptors), zap.Uint8("verdict", uint8(e.Verdict)))
	}
	switch e.Verdict {
	case backend.OK, backend.OverLimit:
		return e.Answer(), nil
	case backend.Failed:
		return nil, status.Error(codes.Unavailable, "the store did not decide in time")
	default:
		return nil, status.Error(codes.Internal, "the store gave no verdict")
	}
}

// toStatus is the one place where an error becomes a gRPC code.
func toStatus(err error) error {
	var bad BadRequest
	if errors.As(err, &bad) {
		return status.Error(codes.InvalidArgument, bad.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
