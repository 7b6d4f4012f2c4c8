package proc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
	"sync"
)

// Ports below the kernel's range for outgoing connections and for port 0: nothing
// takes them between our look and the start of the program.
const (
	firstPort = 15000
	lastPort  = 31999
)

// Ports hands out free loopback ports, none twice. The zero Ports is ready.
type Ports struct {
	mu   sync.Mutex
	used map[int]bool
}

// Take returns a port that nobody listens on.
func (p *Ports) Take(ctx context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[int]bool{}
	}
	for range lastPort - firstPort {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // no secret
		if !p.used[port] && free(ctx, port) {
			p.used[port] = true
			return port, nil
		}
	}
	return 0, errors.New("no loopback port is free")
}

// free tells whether nobody listens on a loopback port.
func free(ctx context.Context, port int) bool {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", Loopback(port))
	return err == nil && l.Close() == nil
}

// Loopback is the address of a port.
func Loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// ReplacePorts writes other ports into an Envoy configuration. Each old port must
// be there.
func ReplacePorts(config string, ports map[int]int) (string, error) {
	seen := map[int]bool{}
	config = portValue.ReplaceAllStringFunc(config, func(field string) string {
		port, err := strconv.Atoi(portValue.FindStringSubmatch(field)[1])
		if other, ok := ports[port]; ok && err == nil {
			seen[port] = true
			return "port_value: " + strconv.Itoa(other)
		}
		return field
	})
	for port := range ports {
		if !seen[port] {
			return "", fmt.Errorf("the Envoy configuration has no port_value: %d", port)
		}
	}
	return config, nil
}

var portValue = regexp.MustCompile(`port_value: (\d+)`)
