// Command floor is the least that a grpc-go rate limit service costs: the generated
// service with default options, which answers OK with one status to anything.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

func main() {
	addr := flag.String("grpc-addr", "127.0.0.1:8081", "where to listen")
	flag.Parse()
	if err := run(context.Background(), *addr); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s := grpc.NewServer()
	rlspb.RegisterRateLimitServiceServer(s, floor{})
	return s.Serve(l)
}

type floor struct {
	rlspb.UnimplementedRateLimitServiceServer
}

// ShouldRateLimit admits.
func (floor) ShouldRateLimit(context.Context, *rlspb.RateLimitRequest) (*rlspb.RateLimitResponse, error) {
	return &rlspb.RateLimitResponse{
		OverallCode: rlspb.RateLimitResponse_OK,
		Statuses:    []*rlspb.RateLimitResponse_DescriptorStatus{{Code: rlspb.RateLimitResponse_OK}},
	}, nil
}
