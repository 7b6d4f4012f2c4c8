package proc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Authority signs certificates, for servers and clients alike.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	now  func() time.Time
}

// NewAuthority makes an authority of certificates that are valid for a day.
func NewAuthority(now func() time.Time) (*Authority, error) {
	a := &Authority{now: now}
	var err error
	a.cert, a.key, err = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true})
	return a, err
}

// CA writes the authority's certificate into a folder.
func (a *Authority) CA(dir string) (path string, err error) {
	path = filepath.Join(dir, "ca.pem")
	return path, writePEM(path, "CERTIFICATE", a.cert.Raw)
}

// Issue writes a certificate and its key into a folder. Its common name may be
// empty; of the other names, addresses and URIs are told by their looks.
func (a *Authority) Issue(dir, commonName string, names ...string) (cert, key string, err error) {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: commonName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else if uri, err := url.Parse(name); err == nil && strings.Contains(name, "://") {
			c.URIs = append(c.URIs, uri)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	c, private, err := a.sign(c)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := writePEM(cert, "CERTIFICATE", c.Raw); err != nil {
		return "", "", err
	}
	return cert, key, writePEM(key, "PRIVATE KEY", der)
}

// sign signs with the authority's key, or with its own where there is none yet.
func (a *Authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, err
	}
	c.NotBefore, c.NotAfter = a.now().Add(-time.Hour), a.now().Add(24*time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		return nil, nil, err
	}
	c, err = x509.ParseCertificate(der)
	return c, key, err
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
