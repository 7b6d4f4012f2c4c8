package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Commands is what clients, but no script, have sent the server during a run, beside
// the greetings of new connections.
func (r *Redis) Commands(ctx context.Context, run func()) ([]string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // it has told all
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "+OK" {
		return nil, fmt.Errorf("MONITOR is answered %q", lines.Text())
	}
	run()
	if _, err := r.Do(ctx, "ECHO", "end"); err != nil {
		return nil, err
	}
	var sent []string
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.Contains(line, `"end"`):
			return sent, nil
		case strings.Contains(line, " lua]"), strings.Contains(line, `"hello"`):
		default:
			sent = append(sent, line)
		}
	}
	return nil, errors.Join(errors.New("what the server reports ends"), lines.Err())
}

// lasting is a script that finds the keys without an expiry.
const lasting = `local found, cursor = {}, '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000)
  for _, key in ipairs(page[2]) do
    if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
  end
  cursor = page[1]
until cursor == '0'
return found`

// CheckExpiries wants every key that begins with a prefix to expire. A server that has
// ended has no keys. Password is that of the default user, or empty.
func (r *Redis) CheckExpiries(ctx context.Context, prefix, password string) error {
	select {
	case <-r.done:
		return nil
	default:
	}
	client := goredis.NewClient(&goredis.Options{Addr: r.Addr(), Protocol: 2, Password: password})
	defer client.Close() //nolint:errcheck // it has answered
	keys, err := client.Eval(ctx, lasting, nil, prefix+"*").StringSlice()
	if err != nil {
		return fmt.Errorf("looking for keys without an expiry: %w", err)
	}
	if len(keys) > 0 {
		return fmt.Errorf("%d keys never expire, the first is %q", len(keys), keys[0])
	}
	return nil
}
