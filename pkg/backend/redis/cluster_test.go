package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/backendtest"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// ownCluster is a cluster that no other test uses.
func ownCluster(t *testing.T) *proc.RedisCluster {
	t.Helper()
	c, err := proc.StartRedisCluster(context.WithoutCancel(t.Context()), shared.path, t.TempDir(), &shared.ports, 3)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, c)
	for _, m := range c.Masters {
		checkExpiriesAfter(t, m, "", "")
	}
	return c
}

// slots is how many slots a cluster has; each of three masters serves a third.
const slots = 16384

// keyOn is an identity whose key is served by a master.
func keyOn(prefix string, master int) string {
	for i := 0; ; i++ {
		key := fmt.Sprintf("key %d", i)
		if slot := redis.SlotOf(prefix + "1{}" + key); slot >= master*slots/3 && slot < (master+1)*slots/3 {
			return key
		}
	}
}

// clusterStore is a backend on a cluster.
type clusterStore struct {
	*store

	masters []*goredis.Client
}

func openCluster(t *testing.T, c *proc.RedisCluster, o redis.Options) *clusterStore {
	t.Helper()
	s := &clusterStore{store: &store{prefix: shared.prefix()}}
	for _, m := range c.Masters {
		client := goredis.NewClient(&goredis.Options{Addr: m.Addr(), Protocol: 2})
		closeAfter(t, client)
		s.masters = append(s.masters, client)
		o.Addrs = append(o.Addrs, m.Addr())
	}
	o.Mode, o.KeyPrefix = redis.Cluster, s.prefix
	if o.Budget == 0 {
		o.Budget = patience
	}
	var err error
	if s.Redis, err = redis.New(o); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s.Redis)
	for _, m := range c.Masters {
		checkExpiriesAfter(t, m, s.prefix, "")
	}
	return s
}

// spread is on how many masters the backend's keys are.
func (s *clusterStore) spread(t *testing.T) int {
	t.Helper()
	used := 0
	for _, s.client = range s.masters {
		if len(s.keys(t)) > 0 {
			used++
		}
	}
	return used
}

// openOnCluster opens a backend for the suite.
func openOnCluster(t *testing.T, c backendtest.Config) backend.Backend {
	t.Helper()
	return openCluster(t, shared.cluster, redis.Options{Now: c.Now})
}

// TestClusterSuite leaves out random requests with a clock that steps back: what a
// request charges on an outdated state and gives back leaves none, while one that
// is refused at once leaves a state that is valid again after a step back.
func TestClusterSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, openOnCluster, "random requests")
}

// TestClusterWalk keeps each key to one rule: when the limit has changed between
// two charges of which the second is given back, a fraction of a microsecond has
// been rounded up.
func TestClusterWalk(t *testing.T) {
	t.Parallel()
	clock := backendtest.NewClock()
	store := openOnCluster(t, backendtest.Config{Now: clock.Now})
	backendtest.Walk{Steps: walkSteps, Seed: 1, Keys: 8, Steady: true}.Run(t, store, clock)
}

// TestClusterReady also wants keys on all masters.
func TestClusterReady(t *testing.T) {
	t.Parallel()
	s := openCluster(t, shared.cluster, redis.Options{})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	for i := range 100 {
		s.admitted(t, 1, ask(fmt.Sprintf("key %d", i), r, 1))
	}
	if used := s.spread(t); used != 3 || len(s.Stats().Nodes) != 3 {
		t.Errorf("keys are on %d of the 3 masters, the backend knows %+v", used, s.Stats().Nodes)
	}
}

// TestReadyIsWhole wants every slot served before anything is ready.
func TestReadyIsWhole(t *testing.T) {
	t.Parallel()
	cluster := ownCluster(t)
	s := openCluster(t, cluster, redis.Options{})
	s.do(t, 0, "CLUSTER", "DELSLOTS", 7)
	half := openAt(t, redis.Options{Mode: redis.Cluster, Budget: patience}, cluster.Masters[0].Addr())
	if err := half.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "slots that no node serves") {
		t.Errorf("without a slot: %v", err)
	}
	s.do(t, 0, "CLUSTER", "ADDSLOTS", 7)
	if err := half.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNotOfItsMode: a server of another mode than the options' says what to give.
func TestNotOfItsMode(t *testing.T) {
	t.Parallel()
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	node := shared.cluster.Masters[0].Addr()
	alone := openAt(t, redis.Options{Warn: warn, Budget: patience}, node)
	for range 2 {
		if err := alone.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want := "redis " + node + " is a node of a cluster, and other nodes have most keys: give a redis-cluster URL, or the type cluster"
	if diff := cmp.Diff([]string{want}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if err := openAt(t, redis.Options{Mode: redis.Cluster, Budget: patience, Warn: func(text string) { t.Error(text) }}, node).Ready(t.Context()); err != nil {
		t.Error(err)
	}
	s, err := proc.StartSentinel(context.WithoutCancel(t.Context()), shared.path, t.TempDir(), &shared.ports, "")
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, s)
	if err := openAt(t, redis.Options{Budget: patience}, s.Addr()).Ready(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "redis "+s.Addr()+" is a sentinel: give a redis-sentinel URL") {
		t.Errorf("a sentinel: %v", err)
	}
}

// TestRD01ClusterLater has nobody ask while no node answers: the slots are asked for
// again and again.
func TestRD01ClusterLater(t *testing.T) {
	t.Parallel()
	p := newProxy(t, "127.0.0.1:1")
	openAt(t, redis.Options{Mode: redis.Cluster}, p.Addr())
	eventually(t, "three attempts", func() bool { return p.Opened() >= 3 })
}
