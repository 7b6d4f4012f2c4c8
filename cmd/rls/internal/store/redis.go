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
	if o.Credentials, err = credentials(s, flag, o.Credentials); err != nil {
		return o, err
	}
	switch user, password := split(s.SentinelAuth); {
	case s.SentinelAuth != "":
		o.SentinelCredentials = fixed(user, password)
	case s.SentinelFile != "":
		o.SentinelCredentials = fromFile("", s.SentinelFile)
	}
	for _, file := range []struct {
		name        string
		credentials redis.Credentials
	}{{"password-file", o.Credentials}, {"sentinel-password-file", o.SentinelCredentials}} {
		if file.credentials == nil {
			continue
		}
		if _, _, err := file.credentials(); err != nil {
			return o, fmt.Errorf("%s-%s: %w", flag, file.name, err)
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
	mode, err := modeOf(s.Type)
	if err != nil {
		return redis.Options{}, err
	}
	if strings.Contains(s.URL, "://") {
		o, err := redis.ParseURL(s.URL)
		if err == nil && s.Type != "" && mode != o.Mode {
			err = fmt.Errorf("its scheme is not that of the type %q; leave the type out", s.Type)
		}
		return o, err
	}
	o := redis.Options{Mode: mode, Addrs: strings.Split(s.URL, ",")}
	switch {
	case mode == redis.Single && len(o.Addrs) != 1:
		return o, errors.New("a single redis has several addresses, must have one")
	case mode == redis.Sentinel && len(o.Addrs) == 1:
		return o, errors.New("must be the master's name and the sentinels' addresses, with commas between")
	case mode == redis.Sentinel:
		o.Master, o.Addrs = o.Addrs[0], o.Addrs[1:]
	}
	socket := strings.ToLower(s.Socket)
	for _, addr := range o.Addrs {
		if o.Mode == redis.Single && strings.HasPrefix(addr, "/") && socket != "tcp" {
			continue
		}
		if strings.Contains(addr, "@") { // a host's name would be shown where it is not found
			return o, errors.New("has an @, which is for URLs: write redis://:password@host:port")
		}
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" || socket == "unix" && o.Mode == redis.Single {
			return o, errors.New("must be a URL, or host:port, or the path of a socket from / on")
		}
	}
	return o, nil
}

func modeOf(word string) (redis.Mode, error) {
	switch strings.ToLower(word) {
	case "", "single":
		return redis.Single, nil
	case "sentinel":
		return redis.Sentinel, nil
	case "cluster":
		return redis.Cluster, nil
	default:
		return 0, fmt.Errorf("the type is %q, must be single, sentinel or cluster", word)
	}
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
