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
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
	"github.com/eb50146d/rls/test/proc"
)

// toldRights are the commands that docs/redis.md tells operators to make a user
// by, a line each: what rls needs, and what compat mode needs besides.
func toldRights(t *testing.T) (commands [][]any) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("\n```\n(ACL SETUSER .*)\n```\n").FindAllSubmatch(text, -1) {
		var command []any
		for word := range strings.FieldsSeq(string(found[1])) {
			command = append(command, word)
		}
		commands = append(commands, command)
	}
	if len(commands) != 2 {
		t.Fatalf("docs/redis.md tells of a user in %d lines, want 2", len(commands))
	}
	return commands
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
			grant(t, server, 1)
			return openAs(t, redis.Options{Credentials: credentials, Addrs: []string{server.Addr()}}), []*proc.Redis{server}
		}},
		{"cluster", func(t *testing.T) (*redis.Redis, []*proc.Redis) {
			t.Helper()
			c := ownCluster(t)
			o := redis.Options{Mode: redis.Cluster, Credentials: credentials}
			for _, m := range c.Masters {
				grant(t, m, 1)
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
			if shared := r.Share(t.Context(), "a", []redis.Post{{Name: "a target", Parts: []string{"a rule"}}}, time.Hour); shared[0].Err != nil {
				t.Error(shared[0].Err)
			}
			if errs := r.Keep(t.Context(), []redis.State{{Name: "a target", Part: "a rule"}}); errs[0] != nil {
				t.Error(errs[0])
			}
			checkDenied(t, servers)
		})
	}
}

// TestRightsOfScripts: the user of the docs may run every command of the scripts.
func TestRightsOfScripts(t *testing.T) {
	t.Parallel()
	rights := toldRights(t)[0]
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

// TestLeastRightsOfCompat: the user of the docs may do all that compat mode does.
func TestLeastRightsOfCompat(t *testing.T) {
	t.Parallel()
	single, several := ownServer(t), ownCluster(t).Masters
	for _, test := range []struct {
		name    string
		mode    redis.Mode
		servers []*proc.Redis
	}{{"single", redis.Single, []*proc.Redis{single}}, {"cluster", redis.Cluster, several}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := redis.Options{Mode: test.mode, Credentials: known("rls", "secret"), Budget: patience}
			for _, s := range test.servers {
				grant(t, s, 2)
				o.Addrs = append(o.Addrs, s.Addr())
			}
			next, err := redis.New(o)
			if err != nil {
				t.Fatal(err)
			}
			c, err := compat.New(compat.Options{Redis: o, StopIncrement: true, Next: next})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, c)
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			rule := newRule(t, algorithms.Params{Kind: algorithms.FixedWindow, Limit: 10, Window: time.Hour})
			rule.CountRefused = true
			for _, hits := range []int64{2, -1} {
				one := ask("k", rule, hits)
				one.Legacy = []byte("domain_k_")
				answers := make([]backend.Answer, 1)
				c.Decide(t.Context(), &backend.Request{Charge: backend.CountRefused, Asks: []backend.Ask{one}}, answers)
				if answers[0].Err != nil {
					t.Errorf("%d hits: %v", hits, answers[0].Err)
				}
			}
			checkDenied(t, test.servers)
		})
	}
}

func checkDenied(t *testing.T, servers []*proc.Redis) {
	t.Helper()
	for _, s := range servers {
		denied, err := connect(t, s, "", "").Do(t.Context(), "ACL", "LOG").Slice()
		if err != nil || len(denied) > 0 {
			t.Errorf("redis denied %v, error %v", denied, err)
		}
	}
}

// grant makes the user of the docs by the first so many of their lines.
func grant(t *testing.T, server *proc.Redis, lines int) {
	t.Helper()
	admin := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})
	closeAfter(t, admin)
	for _, line := range toldRights(t)[:lines] {
		if err := admin.Do(t.Context(), line...).Err(); err != nil {
			t.Fatal(err)
		}
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
