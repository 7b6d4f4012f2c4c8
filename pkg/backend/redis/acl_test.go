package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// leastRights is the user that docs/redis.md tells operators to make.
func leastRights(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\nACL SETUSER ")
	words, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/redis.md does not tell of a user")
	}
	command := []any{"ACL", "SETUSER"}
	for word := range strings.FieldsSeq(words) {
		command = append(command, word)
	}
	return command
}

// TestLeastRights: the user of the docs may do all that rls does.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	credentials := func() (string, string, error) { return "rls", "secret", nil }
	tests := []struct {
		name string
		open func(t *testing.T) (*redis.Redis, []*proc.Redis)
	}{
		{"single", func(t *testing.T) (*redis.Redis, []*proc.Redis) {
			t.Helper()
			server := ownServer(t)
			grant(t, server)
			return openAs(t, redis.Options{Credentials: credentials, Addrs: []string{server.Addr()}}), []*proc.Redis{server}
		}},
		{"cluster", func(t *testing.T) (*redis.Redis, []*proc.Redis) {
			t.Helper()
			c := ownCluster(t)
			o := redis.Options{Mode: redis.Cluster, Credentials: credentials}
			for _, m := range c.Masters {
				grant(t, m)
				o.Addrs = append(o.Addrs, m.Addr())
			}
			return openAs(t, o), c.Masters
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, servers := test.open(t)
			if err := r.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, params := range everyKind() {
				request := backend.Request{Charge: backend.AllOrNothing}
				for _, hits := range []int64{1, -1, 0, 20} {
					request.Asks = append(request.Asks, ask(name, newRule(t, params), hits), ask(name+"2", newRule(t, params), hits))
				}
				answers := make([]backend.Answer, len(request.Asks))
				r.Decide(t.Context(), &request, answers)
				for _, a := range answers {
					if a.Err != nil {
						t.Errorf("%s: %v", name, a.Err)
					}
				}
			}
			if _, err := r.Share(t.Context(), "a rule", "a", nil, time.Hour); err != nil {
				t.Error(err)
			}
			if err := r.Keep(t.Context(), "a rule", nil); err != nil {
				t.Error(err)
			}
			for _, s := range servers {
				denied, err := connect(t, s, "", "").Do(t.Context(), "ACL", "LOG").Slice()
				if err != nil || len(denied) > 0 {
					t.Errorf("redis denied %v, error %v", denied, err)
				}
			}
		})
	}
}

// TestRightsOfScripts: the user of the docs may run every command of the scripts.
func TestRightsOfScripts(t *testing.T) {
	t.Parallel()
	rights := leastRights(t)
	files, err := filepath.Glob("lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts (error %v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`redis\.p?call\(\s*'(\w+)'`).FindAllSubmatch(text, -1) {
			if right := "+" + strings.ToLower(string(found[1])); !slices.Contains(rights, any(right)) {
				t.Errorf("%s runs %s, which the user of the docs may not", file, found[1])
			}
		}
	}
}

func grant(t *testing.T, server *proc.Redis) {
	t.Helper()
	admin := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})
	closeAfter(t, admin)
	if err := admin.Do(t.Context(), leastRights(t)...).Err(); err != nil {
		t.Fatal(err)
	}
}

func openAs(t *testing.T, o redis.Options) *redis.Redis {
	t.Helper()
	o.Budget, o.KeyPrefix = patience, redis.DefaultKeyPrefix
	r, err := redis.New(o)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	return r
}

// everyKind has a rule of each layout that Redis keeps.
func everyKind() map[string]algorithms.Params {
	kinds := map[string]algorithms.Params{
		"gcra":    {Kind: algorithms.GCRA},
		"fixed":   {Kind: algorithms.FixedWindow},
		"log":     {Kind: algorithms.SlidingLog},
		"counter": {Kind: algorithms.SlidingCounter, Buckets: 1},
		"buckets": {Kind: algorithms.SlidingCounter, Buckets: 6},
	}
	for name, p := range kinds {
		p.Limit, p.Window = 10, time.Hour
		kinds[name] = p
	}
	return kinds
}
