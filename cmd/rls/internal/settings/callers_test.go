package settings

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGRPCTLS: a certificate encrypts, unless --grpc-tls or envoyproxy/ratelimit's
// switch says no.
func TestGRPCTLS(t *testing.T) {
	t.Parallel()
	const missing = "--grpc-tls-cert and --grpc-tls-key must be given where the gRPC port is encrypted"
	for _, row := range []struct {
		name string
		args []string
		env  map[string]string
		want GRPCTLS
		err  string
	}{
		{"nothing", nil, nil, GRPCTLS{}, ""},
		{"flags", []string{"--grpc-tls-cert", "c", "--grpc-tls-key", "k"}, nil, GRPCTLS{Use: true, Cert: "c", Key: "k"}, ""},
		{
			"their variables", nil,
			map[string]string{
				"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": "c", "GRPC_SERVER_TLS_KEY": "k", "GRPC_CLIENT_TLS_CACERT": "a", "GRPC_CLIENT_TLS_SAN": "n",
			},
			GRPCTLS{Use: true, Cert: "c", Key: "k", ClientCA: "a", ClientName: "n"},
			"",
		},
		{
			"switched off", nil,
			map[string]string{"GRPC_SERVER_USE_TLS": "false", "GRPC_SERVER_TLS_CERT": "c", "GRPC_SERVER_TLS_KEY": "k", "GRPC_CLIENT_TLS_CACERT": "a"},
			GRPCTLS{},
			"",
		},
		{"on without a certificate", []string{"--grpc-tls"}, nil, GRPCTLS{}, missing},
		{"no key", []string{"--grpc-tls-cert", "c"}, nil, GRPCTLS{}, missing},
		{"clients' authority alone", []string{"--grpc-tls-client-ca", "c"}, nil, GRPCTLS{}, missing},
		{
			"name without an authority",
			[]string{"--grpc-tls-cert", "c", "--grpc-tls-key", "k", "--grpc-tls-client-name", "n"},
			nil,
			GRPCTLS{},
			"--grpc-tls-client-name needs --grpc-tls-client-ca",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			env := func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }
			flags := []string{"grpc-tls", "grpc-tls-cert", "grpc-tls-key", "grpc-tls-client-ca", "grpc-tls-client-name"}
			s, err := Read(Command{Name: "serve", Flags: flags}, row.args, env, io.Discard)
			if row.err != "" {
				if err == nil || err.Error() != row.err {
					t.Errorf("%v, want %s", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, s.GRPCTLS); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
