package redis

import (
	"errors"
	"net"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

const maxHops = 5 // redirections of a call that are followed

// redirect hands a call that did not run to the node that may run it. An error
// says that nobody has taken it.
func (c *cluster) redirect(from *node, call *call, err error) error {
	var answered goredis.Error
	if !errors.As(err, &answered) {
		return err
	}
	words := strings.Fields(answered.Error())
	var to *node
	switch {
	case call.hops >= maxHops:
		return err
	case len(words) == 3 && words[0] == "MOVED": //nolint:mnd // and slot and address
		slot, bad := strconv.ParseUint(words[1], 10, 16)
		if bad != nil || slot >= slotCount {
			return err
		}
		to = c.node(complete(words[2], from.addr))
		c.slots[slot].Store(to)
		signal(c.stale)
		call.asking, call.alone = false, false
	case len(words) == 3 && words[0] == "ASK": //nolint:mnd // as above
		to = c.node(complete(words[2], from.addr))
		call.asking, call.alone = true, true
	case len(words) > 0 && words[0] == "TRYAGAIN" && !call.alone:
		// Of the keys that share the command some have moved; a key for itself has
		// moved or not.
		to, call.alone = from, true
	default:
		return err
	}
	call.hops++
	return to.batcher.submit(call)
}

// complete gives an address without a host that of the node which named it.
func complete(addr, from string) string {
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		if host, _, err := net.SplitHostPort(from); err == nil {
			return net.JoinHostPort(host, port)
		}
	}
	return addr
}
