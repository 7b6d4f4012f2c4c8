package feedback

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// AccessLogName is the full name of Envoy's service.
const AccessLogName = "envoy.service.accesslog.v3.AccessLogService"

type accessLogger interface {
	StreamAccessLogs(stream grpc.ServerStream) error
}

func accessLogService() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: AccessLogName,
		HandlerType: (*accessLogger)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "StreamAccessLogs", ClientStreams: true,
			Handler: func(srv any, stream grpc.ServerStream) error {
				s, ok := srv.(accessLogger)
				if !ok {
					return status.Error(codes.Internal, "not an access log service")
				}
				return s.StreamAccessLogs(stream)
			},
		}},
		Metadata: "envoy/service/accesslog/v3/als.proto",
	}
}

// StreamAccessLogs reads the access log of one worker of an Envoy, for as long as
// Envoy runs. It never answers.
func (s *Service) StreamAccessLogs(stream grpc.ServerStream) error {
	w, err := s.begin(stream.Context())
	if err != nil {
		return err
	}
	return s.until(func() error {
		l := newLog(s.config.Book, w)
		for {
			if err := stream.RecvMsg(l); err != nil {
				return ended(err)
			}
			if l.stranger != "" {
				s.warnUnknown(l.stranger, w)
			}
			l.book()
		}
	})
}
