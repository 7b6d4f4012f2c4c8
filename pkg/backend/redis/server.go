package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The oldest Redis that has what the script needs.
const (
	oldestMajor = 6
	oldestMinor = 2
)

// ready says whether the node answers and has the script. It looks at the server's
// version and settings once.
func (n *node) ready(ctx context.Context) error {
	client := n.client.Load()
	if !n.checked.Load() {
		info, err := client.Info(ctx).Result()
		if err != nil {
			return fmt.Errorf("asking redis: %w", err)
		}
		if err := n.check(info); err != nil {
			return err
		}
		n.checked.Store(true)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("asking redis: %w", err)
	}
	if err := client.ScriptLoad(ctx, n.script.text).Err(); err != nil {
		return fmt.Errorf("loading the script into redis: %w", err)
	}
	return nil
}

// check reads INFO. A cluster of a single node does without redirections.
func (n *node) check(info string) error {
	version := infoField(info, "redis_version")
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a < oldestMajor || a == oldestMajor && b < oldestMinor {
		return fmt.Errorf("redis is of version %q, must be at least %d.%d", version, oldestMajor, oldestMinor)
	}
	switch mode := infoField(info, "redis_mode"); {
	case mode == "sentinel":
		return fmt.Errorf("redis %s is a sentinel: give a redis-sentinel URL", n.addr)
	case mode == "cluster" && n.batcher.moved == nil:
		n.warn(fmt.Sprintf("redis %s is a node of a cluster, and other nodes have most keys: give a redis-cluster URL, or the type cluster", n.addr))
	}
	policy := infoField(info, "maxmemory_policy")
	if policy != "noeviction" && policy != "" {
		n.warn(fmt.Sprintf("redis %s has maxmemory-policy %s: a key that it evicts starts with a full limit again; set noeviction",
			n.addr, policy))
	}
	return nil
}

func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
