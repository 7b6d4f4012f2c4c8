package store

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/eb50146d/rls/cmd/rls/internal/settings"
)

// TestUnusedURL: a Redis that is named and not used is no error, since
// environments made for others may name one, but it is told.
func TestUnusedURL(t *testing.T) {
	t.Parallel()
	const told = "--redis-url is given, but --backend is local: each replica counts for itself; --backend redis shares limits"
	for _, row := range []struct {
		name string
		in   settings.Settings
		want int
	}{
		{"local", settings.Settings{Backend: "local", LocalMaxKeys: 1}, 0},
		{"local with a URL", settings.Settings{Backend: "local", LocalMaxKeys: 1, Redis: settings.Redis{URL: "redis://h:1"}}, 1},
	} {
		core, lines := observer.New(zap.WarnLevel)
		st, err := Open(&row.in, nil, zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if got := lines.FilterMessage(told).Len(); got != row.want || lines.Len() != row.want {
			t.Errorf("%s: %v is logged, want %d lines", row.name, lines.All(), row.want)
		}
	}
}

// TestSharedOptions: what is not about one server reaches the backend.
func TestSharedOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &settings.Settings{Redis: settings.Redis{URL: "h:1"}, Shared: settings.Shared{Budget: time.Second, KeyPrefix: "p", HashKeys: write(t, dir, "key", "secret\n")}}
	o, err := options(s)
	if err != nil {
		t.Fatal(err)
	}
	if o.Budget != time.Second || o.KeyPrefix != "p" || string(o.HashKey) != "secret" || o.Addrs[0] != "h:1" {
		t.Errorf("%+v, want what was set", o)
	}
	s.Shared.HashKeys = filepath.Join(dir, "none")
	want := "--redis-hash-keys: open " + s.Shared.HashKeys + ": no such file or directory"
	if _, err := options(s); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
