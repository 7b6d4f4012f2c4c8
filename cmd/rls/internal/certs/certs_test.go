package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/certs"
	"github.com/eb50146d/rls/test/proc"
)

// world has an authority, the files of a server, and a clock.
type world struct {
	t         *testing.T
	authority *proc.Authority
	dir       string
	files     certs.Files
	now       time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: time.Now()}
	w.authority = w.newAuthority()
	w.files.Cert, w.files.Key = w.issue(w.authority, w.dir, "one")
	return w
}

func (w *world) newAuthority() *proc.Authority {
	w.t.Helper()
	a, err := proc.NewAuthority(time.Now)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) issue(a *proc.Authority, dir, name string) (cert, key string) {
	w.t.Helper()
	cert, key, err := a.Issue(dir, name, name, "127.0.0.1")
	if err != nil {
		w.t.Fatal(err)
	}
	return cert, key
}

func (w *world) ca(a *proc.Authority) string {
	w.t.Helper()
	path, err := a.CA(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) serve() (*certs.Server, *observer.ObservedLogs) {
	w.t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	s, err := certs.NewServer(w.files, zap.New(core), func() time.Time { return w.now })
	if err != nil {
		w.t.Fatal(err)
	}
	return s, logs
}

// client is a configuration that trusts anybody and shows a certificate of an
// authority, if there is one.
func (w *world) client(a *proc.Authority, name string) *tls.Config {
	w.t.Helper()
	c := &tls.Config{InsecureSkipVerify: true}
	if a != nil {
		pair, err := tls.LoadX509KeyPair(w.issue(a, w.t.TempDir(), name))
		if err != nil {
			w.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// shake connects a client: the server's certificate, and the server's error.
func (w *world) shake(s *certs.Server, c *tls.Config) (*x509.Certificate, error) {
	w.t.Helper()
	near, far := net.Pipe()
	defer near.Close() //nolint:errcheck // a pipe
	failed := make(chan error, 1)
	go func() {
		defer far.Close() //nolint:errcheck // a pipe
		failed <- tls.Server(far, s.Config()).HandshakeContext(w.t.Context())
	}()
	conn := tls.Client(near, c)
	if err := conn.HandshakeContext(w.t.Context()); err != nil {
		near.Close() //nolint:errcheck // a pipe
		<-failed     //nolint:errcheck // the client's says more
		return nil, err
	}
	go func() { _, _ = conn.Read(make([]byte, 1)) }() // of TLS 1.3 what follows the handshake
	if err := <-failed; err != nil {
		return nil, err
	}
	return conn.ConnectionState().PeerCertificates[0], nil
}

// meet is the common name of the certificate that the server shows.
func (w *world) meet(s *certs.Server) string {
	w.t.Helper()
	cert, err := w.shake(s, w.client(nil, ""))
	if err != nil {
		w.t.Fatal(err)
	}
	return cert.Subject.CommonName
}

// TestReload: a changed pair is in force with the next client, a second later at
// most; a broken one is told of once, and the one before stays.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, logs := w.serve()
	steps := []struct {
		name   string
		change func()
		wait   time.Duration
		want   string
		logs   int // lines so far
	}{
		{"at first", func() {}, 0, "one", 0},
		{"changed", func() { w.issue(w.authority, w.dir, "two") }, 999 * time.Millisecond, "one", 0},
		{"a second later", func() {}, time.Millisecond, "two", 1},
		{"key of another", func() { w.swapKey() }, time.Second, "two", 2},
		{"still", func() {}, time.Second, "two", 2},
		{"gone", func() { _ = os.Remove(w.files.Cert) }, time.Second, "two", 3},
		{"mended", func() { w.issue(w.authority, w.dir, "three") }, time.Second, "three", 4},
	}
	for _, step := range steps {
		step.change()
		w.now = w.now.Add(step.wait)
		if got := w.meet(s); got != step.want || logs.Len() != step.logs {
			t.Errorf("%s: %s and %d lines of log, want %s and %d", step.name, got, logs.Len(), step.want, step.logs)
		}
	}
}

// swapKey puts the key of another certificate into the place of ours.
func (w *world) swapKey() {
	w.t.Helper()
	_, key := w.issue(w.authority, w.t.TempDir(), "other")
	data, err := os.ReadFile(key)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.files.Key, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestClients: with an authority of clients, whoever it did not certify is turned
// away, also after the file has changed.
func TestClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.newAuthority()
	w.files.ClientCA = w.ca(w.authority)
	s, _ := w.serve()
	w.files.ClientName = "envoy.mesh"
	named, _ := w.serve()
	check := func(name string, s *certs.Server, a *proc.Authority, as string, want bool) {
		t.Helper()
		if _, err := w.shake(s, w.client(a, as)); (err == nil) != want {
			t.Errorf("%s: %v, want accepted: %v", name, err, want)
		}
	}
	check("no certificate", s, nil, "", false)
	check("of another authority", s, other, "envoy.mesh", false)
	check("certified", s, w.authority, "whoever", true)
	check("of the name", named, w.authority, "envoy.mesh", true)
	check("of another name", named, w.authority, "app.mesh", false)

	w.ca(other)
	w.now = w.now.Add(time.Second)
	check("the authority changed", s, w.authority, "whoever", false)
	check("the new authority", s, other, "whoever", true)
}

// TestBadFiles: what is wrong at the start is an error that names the file.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := filepath.Join(w.dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		files certs.Files
		want  string
	}{
		{"no certificate", certs.Files{Cert: "no/such", Key: w.files.Key}, "open no/such: no such file or directory"},
		{"no key", certs.Files{Cert: w.files.Cert, Key: "no/such"}, "open no/such: no such file or directory"},
		{"no authority", certs.Files{Cert: w.files.Cert, Key: w.files.Key, ClientCA: "no/such"}, "open no/such: no such file or directory"},
		{"no PEM", certs.Files{Cert: w.files.Cert, Key: w.files.Key, ClientCA: text}, text + " has no certificate in PEM"},
		{"no pair", certs.Files{Cert: text, Key: w.files.Key}, "failed to find any PEM data in certificate input"},
	} {
		if _, err := certs.NewServer(row.files, zap.NewNop(), time.Now); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.name, err, row.want)
		}
	}
}
