package feedback

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	alspb "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/eb50146d/rls/cmd/rls/internal/certs"
	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	feedbackv1 "github.com/eb50146d/rls/proto/rls/feedback/v1"
)

const loopback, elsewhere = "127.0.0.1:5", "198.51.100.1:5"

// served is a Service on a server whose callers come from an address of choice.
type served struct {
	*world
	feedbackv1.FeedbackServiceClient

	service *Service
	conn    *grpc.ClientConn
	logs    *observer.ObservedLogs
}

// from is a listener whose peers have another address.
type from struct {
	net.Listener
	addr net.Addr
}

func (f from) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	return fromConn{c, f.addr}, err
}

type fromConn struct {
	net.Conn
	addr net.Addr
}

func (f fromConn) RemoteAddr() net.Addr { return f.addr }

// serve serves target "a" to callers from an address, by TLS if there are
// certificates of both sides.
func serve(t *testing.T, w *world, addr string, allow []string, server *certs.Server, client *tls.Config) *served {
	t.Helper()
	allowed, err := ParseAllow(allow)
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	s := &served{world: w, logs: logs, service: New(Config{
		Book: w.Book, Allow: allowed, Log: zap.New(core),
		Limits: func(context.Context) (*feedbackv1.GetLimitsResponse, error) {
			return &feedbackv1.GetLimitsResponse{Limits: []*feedbackv1.Limit{{Target: "a"}}}, nil
		},
	})}
	options, credential := []grpc.ServerOption{grpc.ForceServerCodecV2(codec.New())}, insecure.NewCredentials()
	if server != nil {
		options, credential = append(options, grpc.Creds(credentials.NewTLS(server.Config()))), credentials.NewTLS(client)
	}
	g := grpc.NewServer(options...)
	s.service.Register(g)
	l := bufconn.Listen(1 << 16)
	stopped := make(chan error, 1)
	go func() { stopped <- g.Serve(from{l, at}) }()
	s.conn, err = grpc.NewClient("passthrough:rls", grpc.WithTransportCredentials(credential),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	s.FeedbackServiceClient = feedbackv1.NewFeedbackServiceClient(s.conn)
	t.Cleanup(func() {
		s.conn.Close() //nolint:errcheck // it can only say that it is closed
		s.service.Close()
		g.GracefulStop()                                                            // no stream is left
		if err := <-stopped; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // before it began to serve
			t.Error(err)
		}
	})
	return s
}

// tell reports n good requests of a target.
func (s *served) tell(target, reporter string, n uint64) (*feedbackv1.ReportLatencyResponse, error) {
	s.t.Helper()
	return s.ReportLatency(s.t.Context(), &feedbackv1.ReportLatencyRequest{Report: &feedbackv1.Report{Target: target, Reporter: reporter, Ok: n}})
}

// is compares an error with a status.
func is(t *testing.T, err error, code codes.Code, message string) {
	t.Helper()
	if got := status.Convert(err); got.Code() != code || got.Message() != message {
		t.Errorf("%v: %s\nwant %v: %s", got.Code(), got.Message(), code, message)
	}
}

func (s *served) accessLogs() alspb.AccessLogService_StreamAccessLogsClient {
	s.t.Helper()
	stream, err := alspb.NewAccessLogServiceClient(s.conn).StreamAccessLogs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// everyCall makes each kind of call and gives the errors.
func (s *served) everyCall() map[string]error {
	s.t.Helper()
	errs := map[string]error{}
	_, errs["ReportLatency"] = s.tell("a", "x", 1)
	_, errs["GetLimits"] = s.GetLimits(s.t.Context(), &feedbackv1.GetLimitsRequest{})
	_, errs["StreamLatency"] = s.stream().CloseAndRecv()
	errs["StreamAccessLogs"] = s.accessLogs().RecvMsg(&alspb.StreamAccessLogsResponse{})
	return errs
}

func (s *served) stream() feedbackv1.FeedbackService_StreamLatencyClient {
	s.t.Helper()
	stream, err := s.StreamLatency(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}
