package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

const hard = "p@ss:/%#word"

func known(user, password string) redis.Credentials {
	return func() (string, string, error) { return user, password, nil }
}

func connect(t *testing.T, server *proc.Redis, user, password string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, Username: user, Password: password})
	closeAfter(t, c)
	return c
}

func connectSentinel(t *testing.T, addr, password string) *goredis.SentinelClient {
	t.Helper()
	c := goredis.NewSentinelClient(&goredis.Options{Addr: addr, Protocol: 2, Password: password})
	closeAfter(t, c)
	return c
}

// TestRD09User changes the password of an ACL user: new connections ask for it anew.
func TestRD09User(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--requirepass", "admin")
	admin := connect(t, server, "default", "admin")
	set := func(password string) {
		t.Helper()
		if err := admin.ACLSetUser(t.Context(), "limiter", "on", "resetpass", ">"+password, "~rls*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
	}
	set(hard)
	var password atomic.Value
	password.Store(hard)
	s := openAt(t, redis.Options{Budget: patience, Credentials: func() (string, string, error) {
		secret, ok := password.Load().(string)
		if !ok || secret == "" {
			return "", "", errors.New("no password")
		}
		return "limiter", secret, nil
	}}, server.Addr())
	rule := yearly(t, backend.OnErrorFail)
	if err := s.Ready(t.Context()); err != nil || !s.decides(t, rule) {
		t.Fatalf("readiness: %v", err)
	}
	set("second")
	drop := func() {
		t.Helper()
		if err := admin.Do(t.Context(), "CLIENT", "KILL", "USER", "limiter").Err(); err != nil {
			t.Error(err)
		}
	}
	drop()
	_, answers := s.decide(t, backend.AllOrNothing, ask("k", rule, 1))
	if err := answers[0].Err; redis.KindOf(err) != redis.Denied || strings.Contains(err.Error(), hard) {
		t.Errorf("error with an old password is %v", err)
	}
	password.Store("second")
	eventually(t, "a decision with the new password", func() bool { return s.decides(t, rule) })
	password.Store("")
	drop()
	if s.decides(t, rule) {
		t.Error("a decision without a password")
	}
	password.Store("second")
	eventually(t, "a decision with a password again", func() bool { return s.decides(t, rule) })
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
	pool *x509.CertPool
}

func newAuthority(t *testing.T, folder string) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool(), file: filepath.Join(folder, "ca.pem")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.pool.AddCert(a.cert)
	write(t, a.file, "CERTIFICATE", der)
	return a
}

// issue writes a certificate for 127.0.0.1 and its key.
func (a *authority) issue(t *testing.T, folder, name string) (cert, key string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, name+".pem"), filepath.Join(folder, name+".key")
	write(t, cert, "CERTIFICATE", der)
	write(t, key, "PRIVATE KEY", encoded)
	return cert, key
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRD09TLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ca := newAuthority(t, folder)
	cert, key := ca.issue(t, folder, "server")
	own, err := tls.LoadX509KeyPair(ca.issue(t, folder, "client"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := shared.ports.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ownServer(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", ca.file, "--tls-auth-clients", "yes")
	tests := []struct {
		name   string
		config *tls.Config
		works  bool
	}{
		{"mutual", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{own}}, true},
		{"no certificate of ours", &tls.Config{RootCAs: ca.pool}, false},
		{"unknown authority", &tls.Config{Certificates: []tls.Certificate{own}}, false},
		{"another name", &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{own}, ServerName: "elsewhere"}, false},
		{"no TLS", nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := openAt(t, redis.Options{Budget: patience, TLS: test.config}, proc.Loopback(port))
			if got := s.decides(t, yearly(t, backend.OnErrorFail)); got != test.works {
				t.Errorf("decides: %t, want %t", got, test.works)
			}
		})
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis.sock")
	ownServer(t, "--unixsocket", path)
	s := openAt(t, redis.Options{Budget: patience, Database: 3}, path)
	if !s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("no decision by a socket")
	}
}
