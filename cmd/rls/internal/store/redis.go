package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/eb50146d/rls/cmd/rls/internal/certs"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// serverOptions says where one Redis is. An error begins with the flag that it is
// about and shows no secret.
func serverOptions(s *settings.Redis, flag string) (redis.Options, error) {
	o, err := place(s)
	if err != nil {
		return o, fmt.Errorf("%s-url: %w", flag, err)
	}
	o.PoolSize = s.PoolSize
	switch user, password := split(s.Auth); {
	case s.Auth != "":
		o.Credentials = fixed(user, password)
	case s.PasswordFile != "":
		o.Credentials = fromFile(s.Username, s.PasswordFile)
	case s.Username != "" || s.Password != "":
		o.Credentials = fixed(s.Username, s.Password)
	}
	switch user, password := split(s.SentinelAuth); {
	case s.SentinelAuth != "":
		o.SentinelCredentials = fixed(user, password)
	case s.SentinelFile != "":
		o.SentinelCredentials = fromFile("", s.SentinelFile)
	}
	for _, credentials := range []redis.Credentials{o.Credentials, o.SentinelCredentials} {
		if credentials == nil {
			continue
		}
		if _, _, err := credentials(); err != nil {
			return o, fmt.Errorf("%s-password-file: %w", flag, err)
		}
	}
	if o.TLS != nil || s.TLS {
		if o.TLS, err = tlsConfig(s); err != nil {
			return o, fmt.Errorf("%s-tls: %w", flag, err)
		}
	}
	return o, nil
}

// place reads a URL, or an address as envoyproxy/ratelimit takes it.
func place(s *settings.Redis) (redis.Options, error) {
	if strings.Contains(s.URL, "://") {
		return redis.ParseURL(s.URL)
	}
	o := redis.Options{Addrs: strings.Split(s.URL, ",")}
	switch strings.ToLower(s.Type) {
	case "", "single":
		if len(o.Addrs) != 1 {
			return o, errors.New("a single redis has several addresses, must have one")
		}
	case "sentinel":
		o.Mode, o.Master, o.Addrs = redis.Sentinel, o.Addrs[0], o.Addrs[1:]
		if len(o.Addrs) == 0 {
			return o, errors.New("must be the master's name and the sentinels' addresses, with commas between")
		}
	case "cluster":
		o.Mode = redis.Cluster
	default:
		return o, fmt.Errorf("the type is %q, must be single, sentinel or cluster", s.Type)
	}
	socket := strings.ToLower(s.Socket)
	for _, addr := range o.Addrs {
		if o.Mode == redis.Single && strings.HasPrefix(addr, "/") && socket != "tcp" {
			continue
		}
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" || socket == "unix" && o.Mode == redis.Single {
			return o, errors.New("must be a URL, or host:port, or the path of a socket from / on")
		}
	}
	return o, nil
}

// split reads [user:]password.
func split(auth string) (user, password string) {
	user, password, two := strings.Cut(auth, ":")
	if !two {
		return "", user
	}
	return user, password
}

func fixed(user, password string) redis.Credentials {
	return func() (string, string, error) { return user, password, nil }
}

func fromFile(user, path string) redis.Credentials {
	return func() (string, string, error) {
		password, err := readSecret(path)
		return user, password, err
	}
}

// readSecret reads a file of one secret, whose line may have an end.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return "", fmt.Errorf("%s is empty, must hold a secret", path)
	}
	return text, nil
}

// tlsConfig reads the certificates once, so that a fault is found at the start,
// and our own again for each connection.
func tlsConfig(s *settings.Redis) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		var err error
		if c.RootCAs, err = certs.Pool(s.CA); err != nil {
			return nil, err
		}
	}
	if s.Cert != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
			return &pair, err
		}
		if _, err := read(nil); err != nil {
			return nil, err
		}
		c.GetClientCertificate = read
	}
	if s.SkipHostname {
		c.InsecureSkipVerify = true // the chain is verified below
		c.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state.PeerCertificates, c.RootCAs) }
	}
	return c, nil
}

// verifyChain is what TLS does by itself, but for the name.
func verifyChain(chain []*x509.Certificate, roots *x509.CertPool) error {
	if len(chain) == 0 {
		return errors.New("redis showed no certificate")
	}
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return err
}
