package proc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const slotCount = 16384

// RedisCluster is a cluster of masters without replicas.
type RedisCluster struct{ Masters []*Redis }

// StartRedisCluster starts masters that share the slots evenly, and returns when
// each of them knows that all slots are served. Their files are in folder.
func StartRedisCluster(ctx context.Context, path, folder string, ports *Ports, masters int) (*RedisCluster, error) {
	c := new(RedisCluster)
	for i := range masters {
		bus, err := ports.Take(ctx)
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		m, err := StartRedis(ctx, path, ports, "--cluster-enabled", "yes", "--dir", folder,
			"--cluster-config-file", fmt.Sprintf("nodes-%d.conf", i), "--cluster-port", strconv.Itoa(bus),
			"--cluster-require-full-coverage", "no")
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.Masters = append(c.Masters, m)
		if err := c.join(ctx, bus); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	for i, m := range c.Masters {
		first, last := i*slotCount/masters, (i+1)*slotCount/masters-1
		if _, err := m.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	for _, m := range c.Masters {
		if err := m.Await(ctx, m.covered); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

// join makes the last master known to the first.
func (c *RedisCluster) join(ctx context.Context, bus int) error {
	last := c.Masters[len(c.Masters)-1]
	// Masters without a common past would decide by their epochs who owns what.
	if _, err := last.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(len(c.Masters))); err != nil {
		return err
	}
	if len(c.Masters) == 1 {
		return nil
	}
	_, err := c.Masters[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(last.Port), strconv.Itoa(bus))
	return err
}

func (r *Redis) covered(ctx context.Context) error {
	info, err := r.Do(ctx, "CLUSTER", "INFO")
	if err == nil && (!strings.Contains(info, "cluster_slots_ok:"+strconv.Itoa(slotCount)) || !strings.Contains(info, "cluster_state:ok")) {
		return fmt.Errorf("the redis cluster is not whole:\n%s", info)
	}
	return err
}

// Stop stops all masters.
func (c *RedisCluster) Stop() error {
	var all error
	for _, m := range c.Masters {
		all = errors.Join(all, m.Stop())
	}
	return all
}
