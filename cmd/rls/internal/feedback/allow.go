package feedback

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Allow says which peers beyond loopback may report, and ask for limits. The zero Allow has none.
type Allow struct {
	networks []netip.Prefix
	names    []string // of client certificates
}

// ParseAllow reads CIDRs, addresses, and names that a client certificate may
// have: a URI or a DNS name of its subjectAltName, or its common name.
func ParseAllow(list []string) (Allow, error) {
	var a Allow
	for _, text := range list {
		network, err := netip.ParsePrefix(text)
		if ip, bad := netip.ParseAddr(text); bad == nil {
			network, err = ip.WithZone("").Unmap().Prefix(ip.Unmap().BitLen())
		}
		switch {
		case err == nil && !network.Addr().Is4In6() && !nobody(network):
			a.networks = append(a.networks, network)
		case text == "" || notAName(text):
			return Allow{}, fmt.Errorf("%q is no CIDR, no address, and no name of a certificate; all addresses are 0.0.0.0/0,::/0", text)
		default:
			a.names = append(a.names, text)
		}
	}
	return a, nil
}

// nobody is true of 0.0.0.0 and ::, which are meant for everybody and are nobody's.
func nobody(network netip.Prefix) bool { return network.IsSingleIP() && network.Addr().IsUnspecified() }

// notAName is true of what was meant for an address: it has a slash or a colon,
// and is no URI, or it has nothing but digits, dots and stars.
func notAName(text string) bool {
	uri := strings.Contains(text, "://")
	return !uri && (strings.ContainsAny(text, "/:") || strings.Trim(text, "0123456789.*") == "")
}

// Names says whether the list has a name of a certificate, which only helps where
// client certificates are verified.
func (a Allow) Names() bool { return len(a.names) > 0 }

// admit finds out who calls. The error is a gRPC status.
func (a Allow) admit(ctx context.Context) (who, error) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return who{}, status.Error(codes.PermissionDenied, "the caller has no address")
	}
	names := certified(p)
	w := who{address: p.Addr.String()}
	if len(names) > 0 {
		w.identity = names[0]
	}
	for _, name := range names {
		if slices.Contains(a.names, name) {
			w.identity = name
			return w, nil
		}
	}
	if a.near(p.Addr) {
		return w, nil
	}
	text := w.address
	if len(names) > 0 {
		text = fmt.Sprintf("%s, whose certificate is of %q,", text, names)
	}
	return who{}, status.Errorf(codes.PermissionDenied, "%s may neither report nor ask for limits; --feedback-allow of rls says who may, beyond loopback", text)
}

// near says whether an address is of this machine alone, or listed.
func (a Allow) near(addr net.Addr) bool {
	if _, ok := addr.(*net.UnixAddr); ok {
		return true
	}
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(a.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// certified are the names in the verified certificate of a peer, the one that
// says most first.
func certified(p *peer.Peer) []string {
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	leaf := info.State.VerifiedChains[0][0]
	return namesOf(leaf)
}

func namesOf(leaf *x509.Certificate) []string {
	var names []string
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	names = append(names, leaf.DNSNames...)
	if cn := leaf.Subject.CommonName; cn != "" {
		names = append(names, cn)
	}
	return names
}
