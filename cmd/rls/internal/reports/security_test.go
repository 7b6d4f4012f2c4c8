package reports

import (
	"io"
	"strings"
	"testing"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/settings"
)

// TestSE01NoTwoDescriptorsShareACounter, whatever their values hold.
func TestSE01NoTwoDescriptorsShareACounter(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, separator := range []string{"", "_", "|", ":", "\x00", "=", ",", "/", ".", "*", "\xff", "\n"} {
				w := newWorld(t, "domain: t\ndescriptors:\n  - key: a\n    descriptors:\n      - key: b\n        "+k.limit(1, "minute")+"\n")
				for _, want := range []codec.Code{codec.OK, codec.OverLimit} {
					for _, values := range [][2]string{{"x" + separator + "b" + separator + "y", "z"}, {"x", "y" + separator + "b" + separator + "z"}} {
						a := w.one(func(q *codec.Request) {
							*q = codec.Request{Domain: "t", Descriptors: []codec.Descriptor{{Entries: []codec.Entry{{Key: "a", Value: values[0]}, {Key: "b", Value: values[1]}}}}}
						})
						if a.Code != want {
							t.Errorf("separator %q, values %q: %s, want %s", separator, values, name(a.Code), name(want))
						}
					}
				}
			}
		})
	}
}

// TestSE01DomainsDoNotRunIntoKeys.
func TestSE01DomainsDoNotRunIntoKeys(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, k.rule(1, "minute"))
			rule := func(domain, key string) string {
				return "domain: " + domain + "\ndescriptors:\n  - key: " + key + "\n    " + k.limit(1, "minute") + "\n"
			}
			put(t, strings.Replace(w.file, "rules", "other", 1), rule("t_a", "a"))
			w.reload(rule("t", "a_a") + "  - key: a\n    " + k.limit(1, "minute") + "\n")
			w.is("t_a:Q(a=1)", "1 OK")
			w.is("Q(a_a=1)", "1 OK")
			w.is("Q(a=a_1)", "1 OK")
			w.is("Q(a=1) x2", "1 OK, 1 OVER")
		})
	}
}

// TestSE09TheOperatorsPortIsClosed to other machines, and has no profiles, unless
// that is asked for.
func TestSE09TheOperatorsPortIsClosed(t *testing.T) {
	t.Parallel()
	s, err := settings.Read(settings.Command{Name: "serve", Flags: []string{"admin-addr", "pprof"}}, nil, func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.AdminAddr != "127.0.0.1:6070" || s.PProf {
		t.Errorf("admin address %q, profiles %t, want loopback and none", s.AdminAddr, s.PProf)
	}
}
