package feedback

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// who is a peer that may report.
type who struct {
	identity string // of its certificate; "" if it has none that was verified
	address  string
}

// key is a reporter: a name counts within its origin alone, so that nobody speaks
// for another.
type key struct {
	origin string // see who.origin
	name   string // that the reporter chose; "" if it has none
}

// String is the same on all replicas, and another for each key: an origin has no
// NUL, whatever the name has.
func (k key) String() string { return k.origin + "\x00" + k.name }

// text is the peer in a log.
func (w who) text() string { return clip(cmp.Or(w.identity, w.address)) }

// agent is who sends reports. The identity, if there is one, is its whole name.
func (w who) agent(name string) key {
	if w.identity != "" {
		name = ""
	}
	return key{w.origin(), name}
}

// envoy is who sends an access log. Many Envoys may share one identity. All that
// have no node id are one by their origin: the streams of one Envoy's threads have
// nothing else in common.
func (w who) envoy(node string) key { return key{w.origin(), clip(node)} }

// origin is what a caller cannot choose: its identity, or the IP address without
// the port. All that come by a Unix socket are one.
func (w who) origin() string {
	if w.identity != "" {
		return "certificate " + whole(w.identity) // which is no address
	}
	at, err := netip.ParseAddrPort(w.address)
	if err != nil {
		return "socket"
	}
	return at.Addr().Unmap().WithZone("").String()
}

// whole makes an identity one that can be kept, and no two into one: where it is
// too long or has what cannot be kept, its hash stands for the rest.
func whole(identity string) string {
	if len(identity) <= maxName && utf8.ValidString(identity) && !strings.Contains(identity, "\x00") {
		return identity
	}
	hash := sha256.Sum256([]byte(identity))
	first, _, _ := strings.Cut(clip(identity), "\x00")
	return cut(first, maxName-hex.EncodedLen(len(hash))-1) + "~" + hex.EncodeToString(hash[:])
}

// clip makes a name that can be kept: of bounded length, in UTF-8.
func clip(name string) string { return cut(strings.ToValidUTF8(name, "\uFFFD"), maxName) }

// cut is the first n bytes of a text, less a part of a character.
func cut(text string, n int) string {
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "")
	}
	return text
}
