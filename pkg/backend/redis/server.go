package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialTimeout is how long a new connection may take. No request waits for it
// longer than its own patience.
const dialTimeout = time.Second

// server is one Redis server.
type server struct {
	client *goredis.Client
	script script
}

func newServer(url string, budget time.Duration, s script) (*server, error) {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("reading the URL of redis: %w", err)
	}
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.MaxRetries = -1 // a call whose fate is unknown must not run again
	o.DialerRetries = 1
	o.DialTimeout = dialTimeout
	o.ReadTimeout, o.WriteTimeout = budget, budget
	o.PoolSize = loops + 1 // one for Ready
	return &server{goredis.NewClient(o), s}, nil
}

// eval implements executor. A call that Redis refused for want of the script has
// not run, so it is sent again with the script itself, which Redis then keeps.
func (s *server) eval(ctx context.Context, args []any) (string, error) {
	cmd := goredis.NewCmd(ctx, args...)
	err := s.client.Process(ctx, cmd)
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", s.script.text
		cmd = goredis.NewCmd(ctx, args...)
		err = s.client.Process(ctx, cmd)
	}
	if err != nil {
		return "", fmt.Errorf("asking redis: %w", err)
	}
	return cmd.Text()
}

func (s *server) load(ctx context.Context) error {
	if err := s.client.ScriptLoad(ctx, s.script.text).Err(); err != nil {
		return fmt.Errorf("loading the script into redis: %w", err)
	}
	return nil
}

// ready says whether the server answers and has the script.
func (s *server) ready(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("asking redis: %w", err)
	}
	return s.load(ctx)
}

func (s *server) close() error { return s.client.Close() }
