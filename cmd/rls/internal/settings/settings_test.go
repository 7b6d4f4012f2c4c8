package settings

import (
	"io"
	"testing"
)

// TestAdminAddr: the operator's port is for this machine alone, unless told
// otherwise or in compat mode, where it is where it was.
func TestAdminAddr(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		env  map[string]string
		want string
	}{
		{"default", nil, nil, "127.0.0.1:6070"},
		{"compat", []string{"--compat", "envoyproxy"}, nil, ":6070"},
		{"compat by variable", nil, map[string]string{"RLS_COMPAT": "envoyproxy"}, ":6070"},
		{"compat, told otherwise", []string{"--compat", "envoyproxy", "--admin-addr", "127.0.0.1:1"}, nil, "127.0.0.1:1"},
		{"compat, told by variable", []string{"--compat", "envoyproxy"}, map[string]string{"RLS_ADMIN_ADDR": "127.0.0.1:6070"}, "127.0.0.1:6070"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			env := func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }
			s, err := Read(Command{Name: "serve", Flags: []string{"compat", "admin-addr"}}, row.args, env, io.Discard)
			if err != nil || s.AdminAddr != row.want {
				t.Errorf("%+v, %v, want %s", s, err, row.want)
			}
		})
	}
}

// TestVariablesOfBoth: ours goes before the one of envoyproxy/ratelimit.
func TestVariablesOfBoth(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"SHADOW_MODE": "true"}, true},
		{map[string]string{"SHADOW_MODE": ""}, false},
		{map[string]string{"RLS_SHADOW_MODE": "true"}, true},
		{map[string]string{"RLS_SHADOW_MODE": "false", "SHADOW_MODE": "true"}, false},
		{map[string]string{"RLS_SHADOW_MODE": "", "SHADOW_MODE": "true"}, true},
	} {
		env := func(name string) (string, bool) { v, ok := row.env[name]; return v, ok }
		s, err := Read(Command{Name: "serve", Flags: []string{"shadow-mode"}}, nil, env, io.Discard)
		if err != nil || s.Shadow != row.want {
			t.Errorf("%v: %+v, %v, want %v", row.env, s, err, row.want)
		}
	}
}
