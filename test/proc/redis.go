package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// Redis is a running Redis server that keeps nothing on disk.
type Redis struct {
	*Process

	Port int
}

// FindRedis returns the path of redis-server.
func FindRedis() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("%w: apt-get install redis-server", err)
	}
	return path, nil
}

// StartRedis starts the program at path and returns when it answers. More
// arguments are settings, as on its command line.
func StartRedis(ctx context.Context, path string, ports *Ports, args ...string) (*Redis, error) {
	port, err := ports.Take(ctx)
	if err != nil {
		return nil, err
	}
	r := &Redis{Port: port}
	args = append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no"}, args...)
	if r.Process, err = Start(ctx, "Redis", path, args...); err != nil {
		return nil, err
	}
	if err := errors.Join(countStart(KindRedis), r.Await(ctx, r.ping)); err != nil {
		r.Stop() //nolint:errcheck // the first error says more
		return nil, err
	}
	return r, nil
}

// Addr is where the server listens.
func (r *Redis) Addr() string { return Loopback(r.Port) }

// Do sends one command whose words have no spaces, and returns the answer's text.
func (r *Redis) Do(ctx context.Context, words ...string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // it answered
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := conn.Write([]byte(strings.Join(words, " ") + "\r\n")); err != nil {
		return "", err
	}
	answer := make([]byte, 4096)
	n, err := conn.Read(answer)
	if err != nil {
		return "", err
	}
	text := string(answer[:n])
	if message, failed := strings.CutPrefix(text, "-"); failed {
		return "", fmt.Errorf("redis answers %q to %s", message, words[0])
	}
	return text, nil
}

// ping wants an answer, be it that a password is missing.
func (r *Redis) ping(ctx context.Context) error {
	text, err := r.Do(ctx, "PING")
	if err != nil && strings.Contains(err.Error(), "NOAUTH") {
		return nil
	}
	if err == nil && !strings.HasPrefix(text, "+PONG") {
		return fmt.Errorf("redis answers %q", text)
	}
	return err
}
