package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign("authority", true)
	return a
}

func (a *authority) sign(name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: ca, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	return c, key
}

// files writes a pair of certificate and key.
func (a *authority) files(dir, name string) (cert, key string) {
	a.t.Helper()
	c, k := a.sign(name, false)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return write(a.t, dir, "cert", text("CERTIFICATE", c.Raw)), write(a.t, dir, "key", text("PRIVATE KEY", der))
}

// shake lets a client of c meet a server with the name of a certificate. It gives
// the client's name and the client's error.
func (a *authority) shake(c *tls.Config, server string) (client string, err error) {
	a.t.Helper()
	cert, key := a.sign(server, false)
	near, far := net.Pipe()
	defer near.Close() //nolint:errcheck // a pipe
	done := make(chan string, 1)
	go func() {
		defer far.Close() //nolint:errcheck // a pipe
		conn := tls.Server(far, &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
		})
		name := ""
		if conn.HandshakeContext(a.t.Context()) == nil && len(conn.ConnectionState().PeerCertificates) > 0 {
			name = conn.ConnectionState().PeerCertificates[0].Subject.CommonName
		}
		done <- name
	}()
	c = c.Clone()
	c.ServerName, c.SessionTicketsDisabled, c.MaxVersion = "redis", true, tls.VersionTLS12
	err = tls.Client(near, c).HandshakeContext(a.t.Context())
	near.Close() //nolint:errcheck // a pipe
	return <-done, err
}

// TestTLS: who signed a server's certificate is always checked, its name unless
// told otherwise, and our own certificate is read for each connection.
func TestTLS(t *testing.T) {
	t.Parallel()
	ours, others := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	ca := write(t, dir, "ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.cert.Raw})))
	cert, key := ours.files(dir, "first")
	for _, row := range []struct {
		name   string
		skip   bool
		by     *authority
		server string
		fails  bool
	}{
		{"the right one", false, ours, "redis", false},
		{"another name", false, ours, "other", true},
		{"another name, allowed", true, ours, "other", false},
		{"another signer", false, others, "redis", true},
		{"another signer, of any name", true, others, "redis", true},
	} {
		c, err := tlsConfig(&settings.Redis{CA: ca, SkipHostname: row.skip})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := row.by.shake(c, row.server); (err != nil) != row.fails {
			t.Errorf("%s: %v, want an error: %t", row.name, err, row.fails)
		}
	}
	c, err := tlsConfig(&settings.Redis{CA: ca, Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		ours.files(dir, name)
		if got, err := ours.shake(c, "redis"); got != name || err != nil {
			t.Errorf("the server sees %q, %v, want %q", got, err, name)
		}
	}
	if _, err := tlsConfig(&settings.Redis{Cert: ca, Key: key}); err == nil {
		t.Error("a key of another certificate is taken")
	}
	if c.MinVersion != tls.VersionTLS12 {
		t.Errorf("the least version is %x, want that of 1.2", c.MinVersion)
	}
}

// TestTLSOptions: the authorities count, whatever it was that turned TLS on.
func TestTLSOptions(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	ca := write(t, t.TempDir(), "ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})))
	for _, row := range []struct {
		name string
		in   settings.Redis
	}{
		{"URL", settings.Redis{URL: "rediss://h:1", CA: ca}},
		{"flag", settings.Redis{URL: "h:1", TLS: true, CA: ca}},
	} {
		if o, err := serverOptions(&row.in, "--redis"); err != nil || o.TLS == nil || o.TLS.RootCAs == nil {
			t.Errorf("%s: %+v, %v, want an authority", row.name, o.TLS, err)
		}
	}
	o, err := secondOptions(&settings.Settings{Redis: settings.Redis{CA: ca, SkipHostname: true}, Legacy: settings.Legacy{Second: settings.Redis{URL: "h:1", TLS: true}}})
	if err != nil || o.TLS == nil || o.TLS.RootCAs == nil || !o.TLS.InsecureSkipVerify || o.Addrs[0] != "h:1" {
		t.Errorf("the Redis for rules of one second: %+v, %v, want the authority and the names of the other", o, err)
	}
}

// TestVerifyChain: where the name does not count, those between do.
func TestVerifyChain(t *testing.T) {
	t.Parallel()
	root := newAuthority(t)
	between := &authority{t: t}
	between.cert, between.key = root.sign("between", true)
	leaf, _ := between.sign("redis", false)
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	if err := verifyChain([]*x509.Certificate{leaf, between.cert}, roots); err != nil {
		t.Error(err)
	}
	for name, chain := range map[string][]*x509.Certificate{"without the one between": {leaf}, "empty": {}} {
		if err := verifyChain(chain, roots); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
