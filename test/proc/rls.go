package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// Root is the folder of go.mod, found upward from the current folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the current folder: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the current folder")
		}
		dir = parent
	}
}

// Build compiles a package of the module at root, without cgo and race detector,
// into dir, and returns the program's path.
func Build(ctx context.Context, root, pkg, dir string) (string, error) {
	return BuildTagged(ctx, root, pkg, dir, "")
}

// BuildTagged is Build under a build tag.
func BuildTagged(ctx context.Context, root, pkg, dir, tag string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg)+tag)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tag, "-o", path, pkg) //nolint:gosec // our own packages
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// RLS is a running rls.
type RLS struct {
	*Process

	GRPC  int // port
	HTTP  int // port
	Admin int // port
	conn  *grpc.ClientConn
}

// StartRLS starts the program at path with the rule files of the folder rules, and
// returns when it is SERVING. It ends without a drain delay unless args say another.
func StartRLS(ctx context.Context, path string, ports *Ports, rules string, args ...string) (*RLS, error) {
	return StartRLSWith(ctx, path, ports, rules, nil, args...)
}

// StartRLSWith is StartRLS with variables, as name=value, added to the environment.
func StartRLSWith(ctx context.Context, path string, ports *Ports, rules string, env []string, args ...string) (*RLS, error) {
	r, err := LaunchRLSWith(ctx, path, ports, rules, env, args...)
	if err != nil {
		return nil, err
	}
	if err := r.Await(ctx, func(ctx context.Context) error {
		return r.Expect(ctx, healthpb.HealthCheckResponse_SERVING)
	}); err != nil {
		r.Stop() //nolint:errcheck // the first error says more
		return nil, err
	}
	return r, nil
}

// LaunchRLS starts rls and does not wait for it to serve.
func LaunchRLS(ctx context.Context, path string, ports *Ports, rules string, args ...string) (*RLS, error) {
	return LaunchRLSWith(ctx, path, ports, rules, nil, args...)
}

// LaunchRLSWith is LaunchRLS with variables, as name=value, added to the environment.
func LaunchRLSWith(ctx context.Context, path string, ports *Ports, rules string, env []string, args ...string) (*RLS, error) {
	r := &RLS{}
	for _, port := range []*int{&r.GRPC, &r.HTTP, &r.Admin} {
		var err error
		if *port, err = ports.Take(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := grpc.NewClient(Loopback(r.GRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	r.conn = conn
	args = append([]string{
		"serve", "--config", rules, "--grpc-addr", Loopback(r.GRPC), "--http-addr", Loopback(r.HTTP), "--admin-addr", Loopback(r.Admin),
		"--drain-delay", "0s",
	}, args...)
	if r.Process, err = startWith(ctx, "rls", path, env, args...); err != nil {
		conn.Close() //nolint:errcheck // the first error says more
		return nil, err
	}
	return r, nil
}

// Expect asks for the health of the whole server, and fails when it is another.
func (r *RLS) Expect(ctx context.Context, want healthpb.HealthCheckResponse_ServingStatus) error {
	answer, err := healthpb.NewHealthClient(r.conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err == nil && answer.GetStatus() != want {
		return fmt.Errorf("health is %v, want %v", answer.GetStatus(), want)
	}
	return err
}

// Conn is a connection to the gRPC port, closed by Stop.
func (r *RLS) Conn() *grpc.ClientConn { return r.conn }

// Stop is Process.Stop, and closes the connection.
func (r *RLS) Stop() error {
	err := r.Process.Stop()
	r.conn.Close() //nolint:errcheck // it can only say that it is closed
	return err
}
