package compat_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis/compat"
	"github.com/eb50146d/rls/test/proc"
)

var server *proc.Redis //nolint:gochecknoglobals // TestMain has no other way to hand it over

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	path, err := proc.FindRedis()
	if err != nil {
		return 0, err
	}
	if server, err = proc.StartRedis(ctx, path, new(proc.Ports)); err != nil {
		return 0, err
	}
	code = m.Run()
	if err := server.Stop(); err != nil {
		return code, err
	}
	if code == 0 {
		// A closed client's pool looks once a second whether it may stop to dial.
		err = goleak.Find(goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
	}
	return code, err
}

// subject is a Store on keys of its own, which have to expire when the test ends.
type subject struct {
	*compat.Store

	t      *testing.T
	client *goredis.Client
	prefix string
	clock  *backendtest.Clock
}

func open(t *testing.T, o compat.Options) *subject {
	t.Helper()
	s := &subject{t: t, prefix: rand.Text() + ":", clock: backendtest.NewClock()}
	o.KeyPrefix, o.Now = s.prefix, s.clock.Now
	if o.Redis.Addrs == nil {
		o.Redis.Addrs, o.Redis.Budget = []string{server.Addr()}, time.Minute
	}
	o.Next = local.New(local.Options{Now: s.clock.Now})
	var err error
	if s.Store, err = compat.New(o); err != nil {
		t.Fatal(err)
	}
	s.client = goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})
	t.Cleanup(func() {
		err := server.CheckExpiries(context.WithoutCancel(t.Context()), s.prefix, "")
		if err := errors.Join(err, s.Close(), s.client.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func hourly(t *testing.T, limit int64) *backend.Rule {
	t.Helper()
	r, err := algorithms.New(algorithms.Params{Kind: algorithms.FixedWindow, Limit: limit, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &backend.Rule{Limit: r, OnError: backend.OnErrorFail, CountRefused: true}
}

func ask(name string, rule *backend.Rule, hits int64) backend.Ask {
	return backend.Ask{Key: []byte(name), Legacy: compat.AppendPart(nil, name), Rule: rule, Hits: hits}
}

func (s *subject) decide(asks ...backend.Ask) (backend.Verdict, []backend.Answer) {
	s.t.Helper()
	answers := make([]backend.Answer, len(asks))
	return s.Decide(s.t.Context(), &backend.Request{Charge: backend.CountRefused, Asks: asks}, answers), answers
}

// held is what the counter of a name holds in the window of the clock.
func (s *subject) held(name string) string {
	s.t.Helper()
	return s.client.Get(s.t.Context(), s.key(name)).Val()
}

func (s *subject) key(name string) string {
	const hour = 3600
	return fmt.Sprintf("%s%s_%d", s.prefix, name, s.clock.Now()/int64(time.Second)/hour*hour)
}
