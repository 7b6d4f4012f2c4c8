package redis_test

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// behind puts a proxy before each master, and has the cluster tell their addresses.
func behind(t *testing.T, s *clusterStore) (proxies []*proc.Proxy, addrs []string) {
	t.Helper()
	for _, m := range s.masters {
		p := newProxy(t, m.Options().Addr)
		_, port, err := net.SplitHostPort(p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
			t.Fatal(err)
		}
		proxies, addrs = append(proxies, p), append(addrs, p.Addr())
	}
	for _, m := range s.masters {
		eventually(t, "the proxies' addresses", func() bool {
			known := m.ClusterNodes(t.Context()).Val()
			return strings.Contains(known, addrs[0]) && strings.Contains(known, addrs[1]) && strings.Contains(known, addrs[2])
		})
	}
	return proxies, addrs
}

// scripts is how often all masters have run a script.
func (s *clusterStore) scripts(t *testing.T) (n int64) {
	t.Helper()
	for _, s.client = range s.masters {
		n += s.calls(t, "evalsha")
	}
	return n
}

// calls is how often the server has run a command.
func (s *store) calls(t *testing.T, command string) int64 {
	t.Helper()
	for line := range strings.Lines(s.client.Info(t.Context(), "commandstats").Val()) {
		if stats, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			calls, _, _ := strings.Cut(stats, ",")
			n, err := strconv.ParseInt(calls, 10, 64)
			if err != nil {
				t.Error(err)
			}
			return n
		}
	}
	return 0
}

// TestLT02OneDelay asks for six keys in six slots while no node's reply comes
// through: all nodes are asked before any has answered, so that the request takes
// one delay of the network, and each node one trip.
func TestLT02OneDelay(t *testing.T) {
	t.Parallel()
	direct := openCluster(t, ownCluster(t), redis.Options{})
	proxies, addrs := behind(t, direct)
	s := openAt(t, redis.Options{Mode: redis.Cluster, Budget: patience}, addrs...)
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	rule := yearly(t, backend.OnErrorFail)
	var asks []backend.Ask
	used := map[int]bool{}
	for i := 0; len(asks) < 6; i++ {
		key := "key " + strconv.Itoa(i)
		slot := redis.SlotOf("rls1{}" + key)
		if third := slot * 3 / slots; !used[slot] && len(asks)/2 == third { // two keys on each master
			used[slot] = true
			asks = append(asks, ask(key, rule, 1))
		}
	}
	if got := s.admitted(t, 1, asks...); got != 1 { // connects
		t.Fatal("no decision")
	}
	before, trips := direct.scripts(t), s.trips()
	var closed sync.RWMutex
	for _, p := range proxies {
		p.Meddle(func(sent []byte) []byte {
			closed.RLock()
			defer closed.RUnlock()
			return sent
		})
	}
	closed.Lock()
	opens := sync.OnceFunc(closed.Unlock)
	defer opens()
	answered := make(chan int)
	go func() { answered <- s.admitted(t, 1, asks...) }()
	eventually(t, "all six keys to be asked for", func() bool { return direct.scripts(t)-before == 6 })
	select {
	case <-answered:
		t.Error("an answer without replies")
	default:
	}
	opens()
	if got := <-answered; got != 1 {
		t.Error("the request is refused")
	}
	if got := s.trips() - trips; got != 3 {
		t.Errorf("%d trips, want one to each node", got)
	}
}

// trips is how many there were to all nodes.
func (s *store) trips() (n uint64) {
	for _, node := range s.Stats().Nodes {
		n += node.Trips
	}
	return n
}

// TestRD03TryAgain has two keys of a slot share a command while one of them has
// moved and the other has not: each is decided where it is.
func TestRD03TryAgain(t *testing.T) {
	t.Parallel()
	s := openCluster(t, ownCluster(t), redis.Options{})
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	rule := yearly(t, backend.OnErrorFail)
	busy := ask(keyOn(s.prefix, 0), rule, 1)
	keys := twoOfOneSlot(s.prefix, redis.SlotOf(s.prefix+"1{}"+string(busy.Key)))
	slot := redis.SlotOf(s.prefix + "1{}" + keys[0])
	for _, key := range keys {
		s.admitted(t, 1, ask(key, rule, 1))
	}
	ctx, from, to := t.Context(), s.masters[0], s.masters[1]
	source, target := from.Do(ctx, "CLUSTER", "MYID").Val(), to.Do(ctx, "CLUSTER", "MYID").Val()
	do := func(c *goredis.Client, args ...any) {
		t.Helper()
		if err := c.Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	host, port, err := net.SplitHostPort(to.Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	do(from, "MIGRATE", host, port, s.prefix+"1{}"+keys[0], 0, 5000)
	do(from, "CLIENT", "PAUSE", 600_000, "WRITE")
	var all sync.WaitGroup
	trips := s.trips()
	all.Go(func() { s.admitted(t, 1, busy) })
	eventually(t, "a trip under way", func() bool { return s.trips() > trips })
	for _, key := range keys {
		all.Go(func() {
			if _, answers := s.decide(t, backend.AllOrNothing, ask(key, rule, 1)); answers[0].Err != nil || answers[0].Used != 2 {
				t.Errorf("key %q: %+v, want its second hit", key, answers[0])
			}
		})
	}
	eventually(t, "two calls that wait", func() bool { return s.waiting() == 2 })
	do(from, "CLIENT", "UNPAUSE")
	all.Wait()
	if !strings.Contains(from.Info(ctx, "errorstats").Val(), "errorstat_TRYAGAIN:count=1") {
		t.Errorf("the keys did not meet in one command: %s", from.Info(ctx, "errorstats").Val())
	}
	migrate(t, slot, from, to)
}

// waiting is how many calls wait for a trip.
func (s *store) waiting() (n int) {
	for _, node := range s.Stats().Nodes {
		n += node.Waiting
	}
	return n
}

// twoOfOneSlot are identities of the first master whose keys share another slot.
func twoOfOneSlot(prefix string, other int) [2]string {
	known := map[int]string{}
	for i := 0; ; i++ {
		key := "pair " + strconv.Itoa(i)
		slot := redis.SlotOf(prefix + "1{}" + key)
		if first, ok := known[slot]; ok && slot < slots/3 && slot != other {
			return [2]string{first, key}
		}
		known[slot] = key
	}
}
