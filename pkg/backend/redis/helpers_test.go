package redis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// patience is a budget that no test exhausts by accident.
const patience = time.Minute

// harness is what the tests of this package share.
type harness struct {
	ports  proc.Ports
	path   string
	shared *proc.Redis // for tests that need no server of their own

	cluster *proc.RedisCluster // likewise
	opened  atomic.Int64
}

var shared harness //nolint:gochecknoglobals // TestMain has no other way to hand it over

func TestMain(m *testing.M) {
	code, err := shared.run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(code)
}

func (h *harness) run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if h.path, err = proc.FindRedis(); err != nil {
		return 0, err
	}
	if h.shared, err = proc.StartRedis(ctx, h.path, &h.ports); err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "rls-redis-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder of the system's
	if h.cluster, err = proc.StartRedisCluster(ctx, h.path, folder, &h.ports, 3); err != nil {
		return 0, err
	}
	code = m.Run()
	for _, server := range append(h.cluster.Masters, h.shared) {
		err = errors.Join(err, server.CheckExpiries(ctx, "", ""))
	}
	if err := errors.Join(err, h.shared.Stop(), h.cluster.Stop()); err != nil {
		return code, err
	}
	if code == 0 {
		err = goleak.Find()
	}
	return code, err
}

// prefix is one that no other test has, of one length, since memory goes by steps.
func (h *harness) prefix() string { return fmt.Sprintf("%03x-", h.opened.Add(1)) }

// ownServer is a server that no other test uses. A replica keeps a file. When the
// test ends every key of it has to expire.
func ownServer(t *testing.T, args ...string) *proc.Redis {
	t.Helper()
	args = append([]string{"--dir", t.TempDir()}, args...)
	server, err := proc.StartRedis(context.WithoutCancel(t.Context()), shared.path, &shared.ports, args...)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, server)
	password := ""
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		password = args[i+1]
	}
	checkExpiriesAfter(t, server, "", password)
	return server
}

// checkExpiriesAfter wants the keys of a prefix to expire when the test ends.
func checkExpiriesAfter(t *testing.T, server *proc.Redis, prefix, password string) {
	t.Helper()
	t.Cleanup(func() {
		if err := server.CheckExpiries(context.WithoutCancel(t.Context()), prefix, password); err != nil {
			t.Error(err)
		}
	})
}

func stopAfter(t *testing.T, p interface{ Stop() error }) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// store is a backend under test, on a part of a server's keys that is its own.
type store struct {
	*redis.Redis

	client *goredis.Client
	prefix string
}

// open makes a backend on server, whose keys have to expire when the test ends.
func open(t *testing.T, server *proc.Redis, o redis.Options) *store {
	t.Helper()
	s := &store{
		client: goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2}),
		prefix: shared.prefix(),
	}
	o.Addrs, o.KeyPrefix = []string{server.Addr()}, s.prefix
	if o.Budget == 0 {
		o.Budget = patience
	}
	var err error
	if s.Redis, err = redis.New(o); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s.client)
	closeAfter(t, s.Redis)
	checkExpiriesAfter(t, server, s.prefix, "")
	return s
}

// closeAfter closes what a test has opened when it ends.
func closeAfter(tb testing.TB, c io.Closer) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// keys are all that the backend has written.
func (s *store) keys(t *testing.T) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var keys []string
	all := s.client.Scan(ctx, 0, s.prefix+"*", 1000).Iterator()
	for all.Next(ctx) {
		keys = append(keys, all.Val())
	}
	if err := all.Err(); err != nil {
		t.Error(err)
	}
	return keys
}

func newRule(tb testing.TB, p algorithms.Params) *backend.Rule {
	tb.Helper()
	limit, err := algorithms.New(p)
	if err != nil {
		tb.Fatalf("New(%+v): %v", p, err)
	}
	return &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
}

func ask(key string, rule *backend.Rule, hits int64) backend.Ask {
	return backend.Ask{Key: []byte(key), Rule: rule, Hits: hits}
}

func (s *store) decide(t *testing.T, charge backend.Charge, asks ...backend.Ask) (backend.Verdict, []backend.Answer) {
	t.Helper()
	answers := make([]backend.Answer, len(asks))
	return s.Decide(t.Context(), &backend.Request{Charge: charge, Asks: asks}, answers), answers
}

// admitted is how many of n equal requests are OK.
func (s *store) admitted(t *testing.T, n int, asks ...backend.Ask) int {
	t.Helper()
	ok := 0
	for range n {
		if verdict, _ := s.decide(t, backend.AllOrNothing, asks...); verdict == backend.OK {
			ok++
		}
	}
	return ok
}
