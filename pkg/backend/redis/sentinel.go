package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// sentinelTimeout is how long one sentinel may take to answer.
const sentinelTimeout = 500 * time.Millisecond

// sentinels know where the master is. They are asked at each new connection, with
// the credentials of that moment.
type sentinels struct {
	o      *Options
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	latest atomic.Pointer[string] // where the master was last found
}

func newSentinels(o *Options) *sentinels { return &sentinels{o: o, dial: dialer(o)} }

// clientOptions are those of a client that connects to the master.
func (s *sentinels) clientOptions() *goredis.Options {
	c := clientOptions(s.o, s.o.Addrs[0])
	c.TLSConfig = nil // dial does it
	c.DialTimeout += time.Duration(len(s.o.Addrs)) * sentinelTimeout
	c.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr, err := s.find(ctx)
		if err != nil {
			return nil, err
		}
		s.latest.Store(&addr)
		return s.dial(ctx, network, addr)
	}
	return c
}

// find asks one sentinel after another.
func (s *sentinels) find(ctx context.Context) (string, error) {
	var all error
	for _, addr := range s.o.Addrs {
		master, err := s.ask(ctx, addr)
		if err == nil {
			return master, nil
		}
		all = errors.Join(all, err)
	}
	return "", fmt.Errorf("asking sentinels for master %q: %w", s.o.Master, all)
}

func (s *sentinels) ask(ctx context.Context, addr string) (string, error) {
	o := *s.o
	o.Database, o.Credentials, o.Budget = 0, s.o.SentinelCredentials, sentinelTimeout
	c := goredis.NewSentinelClient(clientOptions(&o, addr))
	defer c.Close() //nolint:errcheck // it has answered, or not
	ctx, cancel := context.WithTimeout(ctx, sentinelTimeout)
	defer cancel()
	found, err := c.GetMasterAddrByName(ctx, s.o.Master).Result()
	if errors.Is(err, goredis.Nil) {
		return "", fmt.Errorf("the sentinel %s knows no master %q", addr, s.o.Master)
	}
	if err != nil {
		return "", err
	}
	if len(found) != 2 { //nolint:mnd // host and port
		return "", errors.New("a sentinel answers without host and port")
	}
	return net.JoinHostPort(found[0], found[1]), nil
}

// moved says whether the master is elsewhere than the connections go.
func (s *sentinels) moved(ctx context.Context) bool {
	latest := s.latest.Load()
	if latest == nil {
		return false
	}
	addr, err := s.find(ctx)
	return err == nil && addr != *latest
}
