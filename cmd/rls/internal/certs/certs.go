// Package certs reads certificates from files, and again when the files change.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Pool reads a file of certificates in PEM.
func Pool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return pool, nil
}

// Files are those of a server, in PEM.
type Files struct {
	Cert, Key string
	// ClientCA has the certificates that sign those of clients, which must then show
	// one; empty: clients need none.
	ClientCA string
	// ClientName is what a client's certificate must be valid for; empty: anything.
	ClientName string
}

// Server is the TLS configuration of a server. It is safe for concurrent use.
type Server struct {
	files Files
	log   *zap.Logger
	now   func() time.Time

	mu      sync.Mutex
	looked  time.Time
	seen    string // the files' contents, or why they cannot be read
	current *tls.Config
}

// look is how long nobody looks at the files after a look.
const look = time.Second

// NewServer reads the files; what is wrong with them is an error now. Later, when
// they have changed, it is logged, and what was read before stays.
func NewServer(f Files, log *zap.Logger, now func() time.Time) (*Server, error) {
	s := &Server{files: f, log: log, now: now, looked: now()}
	s.seen, _ = f.contents()
	var err error
	s.current, err = f.read()
	return s, err
}

// Config asks for the files whenever a client begins.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.latest(), nil },
	}
}

func (s *Server) latest() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.looked) < look {
		return s.current
	}
	s.looked = now
	seen, err := s.files.contents()
	if seen == s.seen {
		return s.current
	}
	s.seen = seen
	next := s.current
	if err == nil {
		next, err = s.files.read()
	}
	if err != nil {
		s.log.Warn("certificates of the gRPC port refused, those before stay", zap.Error(err))
		return s.current
	}
	s.log.Info("certificates of the gRPC port read again", zap.String("cert", s.files.Cert))
	s.current = next
	return next
}

// contents are all bytes of the files.
func (f Files) contents() (string, error) {
	var all strings.Builder
	for _, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			return err.Error(), err
		}
		all.Write(data)
	}
	return all.String(), nil
}

func (f Files) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCAs, err = Pool(f.ClientCA); err != nil {
		return nil, err
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if f.ClientName != "" {
		c.VerifyConnection = func(state tls.ConnectionState) error {
			return state.PeerCertificates[0].VerifyHostname(f.ClientName)
		}
	}
	return c, nil
}
