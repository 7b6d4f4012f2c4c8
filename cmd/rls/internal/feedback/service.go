// Package feedback takes in what steers adaptive rules: reports of agents, by a
// side RPC, and Envoy's access log. A [Book] keeps them until they are taken.
package feedback

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"time"

	_ "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3" // its descriptors, for reflection
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

// Config is what a Service needs.
type Config struct {
	Book  *Book
	Allow Allow // who may report and ask, beyond loopback
	// Limits tells where every adaptive rule is.
	Limits func(context.Context) (*feedbackv1.GetLimitsResponse, error)
	Log    *zap.Logger
}

// Service is the FeedbackService and Envoy's AccessLogService. It is safe for
// concurrent use.
type Service struct {
	feedbackv1.UnimplementedFeedbackServiceServer

	config  Config
	closing chan struct{}
	close   sync.Once
	refused warned
	unknown warned
}

// New makes a Service.
func New(c Config) *Service {
	return &Service{config: c, closing: make(chan struct{})}
}

// Register adds both services to a gRPC server, which must use the codec package's
// Codec.
func (s *Service) Register(to grpc.ServiceRegistrar) {
	feedbackv1.RegisterFeedbackServiceServer(to, s)
	to.RegisterService(accessLogService(), s)
}

// Close ends all streams, which would else go on for as long as their callers run,
// and every later one. The callers find another replica.
func (s *Service) Close() { s.close.Do(func() { close(s.closing) }) }

// begin says who calls, if the call may be served at all.
func (s *Service) begin(ctx context.Context) (who, error) {
	w, err := s.config.Allow.admit(ctx)
	if err != nil {
		s.config.Book.counts.reports[NotAllowed].Add(1)
		s.refused.once(s.config.Book.now(), func() { s.config.Log.Warn("report refused", zap.Error(err)) })
		return who{}, err
	}
	if len(*s.config.Book.targets.Load()) == 0 {
		return who{}, status.Error(codes.Unavailable, "no rule with algorithm: adaptive is loaded, so there is nothing to report about")
	}
	return w, nil
}

// until reads a stream until it ends or the Service closes.
func (s *Service) until(read func() error) error {
	done := make(chan error, 1)
	go func() { done <- s.safely(read) }()
	select {
	case err := <-done:
		return err
	case <-s.closing: // which ends the stream, and so read
		return status.Error(codes.Unavailable, "this rls is ending")
	}
}

// safely makes INTERNAL of a panic: no report may end the process.
func (s *Service) safely(do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.config.Log.Error("panic while reading a report", zap.Any("fault", fault), zap.ByteString("stack", debug.Stack()))
			err = status.Error(codes.Internal, "rls failed while reading a report, see its log")
		}
	}()
	return do()
}

// ended is how the end of a stream is told: that the caller has no more is no error.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// warned keeps the log short.
type warned struct {
	mu   sync.Mutex
	last time.Time
}

// once does what has not been done for a minute.
func (w *warned) once(now time.Time, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() || now.Sub(w.last) >= time.Minute {
		w.last = now
		do()
	}
}
