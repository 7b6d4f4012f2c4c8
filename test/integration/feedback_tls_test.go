package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/eb50146d/rls/test/proc"
)

// identity is a certificate in files.
type identity struct{ cert, key string }

func issue(t *testing.T, a *proc.Authority, dir string, names ...string) identity {
	t.Helper()
	cert, key, err := a.Issue(dir, "", names...)
	if err != nil {
		t.Fatal(err)
	}
	return identity{cert, key}
}

// dial connects to an rls whose certificate an authority has signed, showing a
// certificate if there is one.
func dial(t *testing.T, r *proc.RLS, ca string, show *identity) *grpc.ClientConn {
	t.Helper()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	c.RootCAs.AppendCertsFromPEM(pem)
	if show != nil {
		pair, err := tls.LoadX509KeyPair(show.cert, show.key)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	conn, err := grpc.NewClient(proc.Loopback(r.GRPC), grpc.WithTransportCredentials(credentials.NewTLS(c)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // it can only say that it is closed
	return conn
}

func health(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// TestEncryptedPort: with envoyproxy/ratelimit's variables the gRPC port is for
// those who show a certificate, and a new certificate needs no restart.
func TestEncryptedPort(t *testing.T) {
	t.Parallel()
	authority, err := proc.NewAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ca, err := authority.CA(dir)
	if err != nil {
		t.Fatal(err)
	}
	own := issue(t, authority, dir, "127.0.0.1")
	r, err := proc.LaunchRLSWith(t.Context(), programs.rls, &programs.ports, rulesOf(t, "domain: d\n"), []string{
		"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=" + own.cert, "GRPC_SERVER_TLS_KEY=" + own.key, "GRPC_CLIENT_TLS_CACERT=" + ca,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Stop() //nolint:errcheck // the end of the test has ended it
		logOnFailure(t, "rls", r.Process)
	})
	envoy := issue(t, authority, t.TempDir(), "spiffe://mesh/envoy")
	if err := r.Await(t.Context(), func(ctx context.Context) error { return health(ctx, dial(t, r, ca, &envoy)) }); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*grpc.ClientConn{"without a certificate": dial(t, r, ca, nil), "without TLS": r.Conn()} {
		if err := health(t.Context(), conn); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v, want UNAVAILABLE", name, err)
		}
	}
	stranger, err := proc.NewAuthority(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	issue(t, stranger, dir, "127.0.0.1") // into rls' files
	newCA, err := stranger.CA(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Await(t.Context(), func(ctx context.Context) error { return health(ctx, dial(t, r, newCA, &envoy)) }); err != nil {
		t.Errorf("with the new certificate of rls: %v", err)
	}
}
