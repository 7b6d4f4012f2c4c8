package settings

import (
	"errors"
)

// GRPCTLS are the settings of encryption on the gRPC port.
type GRPCTLS struct {
	Use                             bool
	Cert, Key, ClientCA, ClientName string // the last a name, the others files
}

// callers are the settings of who may call the gRPC port.
func (s *Settings) callers(f flags) bool {
	t := &s.GRPCTLS
	switch f.name {
	case "grpc-tls":
		f.yes(&t.Use, "encrypt the gRPC port; given by --grpc-tls-cert, and --grpc-tls=false makes nothing of that")
	case "grpc-tls-cert":
		f.text(&t.Cert, "", "`file` with the certificate of the gRPC port, read again when it changes")
	case "grpc-tls-key":
		f.text(&t.Key, "", "`file` with the key of that certificate")
	case "grpc-tls-client-ca":
		f.text(&t.ClientCA, "", "`file` with the certificates that sign those of callers, who must then show one")
	case "grpc-tls-client-name":
		f.text(&t.ClientName, "", "DNS `name` that a caller's certificate must be valid for; nothing: any")
	case "feedback-allow":
		f.set.Var((*list)(&s.FeedbackAllow), f.name, "who may report how targets of adaptive rules fare, and ask for their limits, beside callers by loopback: "+
			"a comma `list` of CIDRs, addresses, and names (URI, DNS or common name) in certificates of callers")
	default:
		return false
	}
	return true
}

// complete turns encryption on where there is a certificate, unless told otherwise.
func (t *GRPCTLS) complete(told bool) {
	switch {
	case !told:
		t.Use = t.Cert+t.Key+t.ClientCA+t.ClientName != ""
	case !t.Use:
		*t = GRPCTLS{}
	}
}

func (t *GRPCTLS) check() error {
	switch {
	case t.Use && (t.Cert == "" || t.Key == ""):
		return errors.New("--grpc-tls-cert and --grpc-tls-key must be given where the gRPC port is encrypted")
	case t.ClientName != "" && t.ClientCA == "":
		return errors.New("--grpc-tls-client-name needs --grpc-tls-client-ca")
	}
	return nil
}
