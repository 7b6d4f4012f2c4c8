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

	Options Options
	Headers Headers
	// Describe adds the request and its rules' metadata to every answer's dynamic
	// metadata.
	Describe bool
	// LogValues writes descriptors' values to the debug log as they are.
	LogValues bool
}

// Service is Envoy's RateLimitService. It is safe for concurrent use.
type Service struct {
	config    Config
	work      sync.Pool // of *work
	counts    counts
	redactor  redactor
	strangers *strangers
	outages   outages
}

// work is the memory of one request, used again by the next.
type work struct {
	request    codec.Request
	evaluation Evaluation
}

// New makes a Service.
func New(c Config) *Service {
	return &Service{
		config: c, counts: newCounts(c.Metrics), redactor: newRedactor(c.LogValues), strangers: newStrangers(c.Log),
		outages: outages{log: c.Log},
		work:    sync.Pool{New: func() any { return new(work) }},
	}
}

// Register adds the service to a gRPC server, which must use the codec package's
// Codec.
func (s *Service) Register(to grpc.ServiceRegistrar) {
	to.RegisterService(&grpc.ServiceDesc{
		ServiceName: Name,
		HandlerType: (*answerer)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handle}},
		Metadata:    "envoy/service/ratelimit/v3/rls.proto",
	}, s)
}

type answerer interface {
	Answer(ctx context.Context, decode func(any) error) (*codec.Response, error)
}

func handle(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // gRPC's order
	s, ok := srv.(answerer)
	if !ok {
		return nil, status.Error(codes.Internal, "not a rate limit service")
	}
	answer, err := s.Answer(ctx, decode)
	if err != nil {
		return nil, err // not a nil answer in an interface
	}
	return answer, nil
}

// Answer answers the request that decode reads. Its errors are gRPC statuses,
// never of code UNKNOWN; a panic becomes INTERNAL, so that the caller's failure
// mode decides.
func (s *Service) Answer(ctx context.Context, decode func(any) error) (answer *codec.Response, err error) {
	started := s.config.Now()
	w, ok := s.work.Get().(*work)
	if !ok {
		w = new(work)
	}
	defer func() {
		if fault := recover(); fault != nil {
			s.config.Log.Error("panic while deciding", zap.Any("fault", fault), zap.ByteString("stack", debug.Stack()))
			answer, err = nil, status.Error(codes.Internal, "rls failed while deciding, see its log")
		}
		s.counts.request(w.evaluation.Verdict, err)
		s.config.Metrics.Duration.Observe(float64(s.config.Now().Sub(started)) / float64(time.Microsecond))
		s.work.Put(w)
	}()
	if err := decode(&w.request); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the message is malformed: %v", err)
	}
	return s.answer(ctx, &w.request, &w.evaluation, started)
}

func (s *Service) answer(ctx context.Context, q *codec.Request, e *Evaluation, now time.Time) (*codec.Response, error) {
	set := s.config.Rules()
	if set == nil {
		return nil, status.Error(codes.Unavailable, "no rules are loaded yet, see the log of rls")
	}
	if err := e.Run(ctx, s.config.Options, set, s.config.Store, q); err != nil {
		return nil, toStatus(err)
	}
	s.counts.decisions(e)
	s.outages.saw(e, now)
	if !e.Known {
		s.strangers.saw(q, set, now)
	}
	if log := s.config.Log.Check(zap.DebugLevel, "decided"); log != nil {
		log.Write(zap.String("domain", q.Domain), s.redactor.descriptors(q.Descriptors), zap.Uint8("verdict", uint8(e.Verdict)))
	}
	switch e.Verdict {
	case backend.OK, backend.OverLimit:
	case backend.Failed:
		return nil, status.Error(codes.Unavailable, "the store did not decide in time")
	default:
		return nil, status.Error(codes.Internal, "the store gave no verdict")
	}
	a := e.Answer()
	s.config.Headers.add(e, a)
	if s.config.Describe {
		var err error
		if a.MoreMetadata, err = e.describe(q); err != nil {
			return nil, toStatus(err)
		}
	}
	return a, nil
}

// toStatus is the one place where an error becomes a gRPC code.
func toStatus(err error) error {
	if bad, ok := errors.AsType[RequestError](err); ok {
		return status.Error(codes.InvalidArgument, bad.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
