package feedback

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

func TestParseAllow(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"10.0.0.0/8", "10.1.2.3/8", "192.0.2.1", "2001:db8::/32", "2001:db8::1", "::ffff:192.0.2.1", "spiffe://mesh/ns/app", "app.mesh", "gateway", "10.example", "*.mesh", "0.0.0.0/0", "::/0",
	} {
		if _, err := ParseAllow([]string{good}); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "10.0.0", "300.1.1.1", "2001:db8::g", "::ffff:10.0.0.0/104", "a/b", "localhost:80", "*", "10.*", "0.0.0.0", "::", "0.0.0.0/32"} {
		want := `"` + bad + `" is no CIDR, no address, and no name of a certificate; all addresses are 0.0.0.0/0,::/0`
		if _, err := ParseAllow([]string{"10.0.0.0/8", bad}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// certificate is of a common name and other names.
func certificate(cn string, names ...string) *x509.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: cn}}
	for _, name := range names {
		if uri, err := url.Parse(name); err == nil && uri.Scheme != "" {
			c.URIs = append(c.URIs, uri)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	return c
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	allow, err := ParseAllow([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "fe80::1%eth0", "spiffe://mesh/app", "app.mesh", "gateway"})
	if err != nil {
		t.Fatal(err)
	}
	tcp := func(text string) net.Addr {
		a, err := net.ResolveTCPAddr("tcp", text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	far := tcp("198.51.100.1:99")
	for _, row := range []struct {
		name  string
		allow Allow
		addr  net.Addr
		cert  *x509.Certificate // verified
		who   string            // "" if not allowed; the identity, or the address
	}{
		{"loopback", Allow{}, tcp("127.0.0.1:5"), nil, "127.0.0.1:5"},
		{"loopback, another address", Allow{}, tcp("127.8.0.1:5"), nil, "127.8.0.1:5"},
		{"loopback, IPv6", Allow{}, tcp("[::1]:5"), nil, "[::1]:5"},
		{"loopback, IPv4 in IPv6", Allow{}, &net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1")}, nil, "127.0.0.1:0"},
		{"socket", Allow{}, &net.UnixAddr{Name: "/run/rls"}, nil, "/run/rls"},
		{"other machine, nothing allowed", Allow{}, tcp("10.0.0.1:5"), nil, ""},
		{"network", allow, tcp("10.9.9.9:5"), nil, "10.9.9.9:5"},
		{"beside the network", allow, tcp("11.0.0.1:5"), nil, ""},
		{"address", allow, tcp("192.0.2.1:5"), nil, "192.0.2.1:5"},
		{"next address", allow, tcp("192.0.2.2:5"), nil, ""},
		{"network, IPv6", allow, tcp("[2001:db8::7]:5"), nil, "[2001:db8::7]:5"},
		{"address with a zone", allow, tcp("[fe80::1%lo]:5"), nil, "[fe80::1%lo]:5"},
		{"URI", allow, far, certificate("x", "x.mesh", "spiffe://mesh/app"), "spiffe://mesh/app"},
		{"DNS", allow, far, certificate("x", "x.mesh", "app.mesh"), "app.mesh"},
		{"common name", allow, far, certificate("gateway", "spiffe://mesh/other"), "gateway"},
		{"another name", allow, far, certificate("x", "spiffe://mesh/app2", "xapp.mesh"), ""},
		{"allowed by address, named by URI", allow, tcp("10.0.0.1:5"), certificate("x", "x.mesh", "spiffe://mesh/other"), "spiffe://mesh/other"},
		{"allowed by address, without a name", allow, tcp("10.0.0.1:5"), certificate(""), "10.0.0.1:5"},
		{"of no kind that is known", allow, &net.IPAddr{IP: net.ParseIP("10.0.0.1")}, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := &peer.Peer{Addr: row.addr}
			if row.cert != nil {
				p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{row.cert}}}}
			}
			w, err := row.allow.admit(peer.NewContext(t.Context(), p))
			if (err == nil) != (row.who != "") || (err == nil) && w.text() != row.who {
				t.Errorf("%+v, %v, want %q", w, err, row.who)
			}
			if err != nil && (status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "--feedback-allow")) {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

// TestUnverified: a certificate that was not verified is no identity.
func TestUnverified(t *testing.T) {
	t.Parallel()
	allow, err := ParseAllow([]string{"gateway"})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer.Peer{
		Addr:     &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1)},
		AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate("gateway")}}},
	}
	if w, err := allow.admit(peer.NewContext(t.Context(), p)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := allow.admit(context.Background()); status.Code(err) != codes.PermissionDenied {
		t.Errorf("without a peer: %v", err)
	}
}
