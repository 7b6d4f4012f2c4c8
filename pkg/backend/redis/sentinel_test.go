package redis_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// TestRD09Sentinel has sentinels with a password of their own promote a replica when
// the master is gone.
func TestRD09Sentinel(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	master := ownServer(t, "--requirepass", "data", "--masterauth", "data")
	replica := ownServer(t, "--requirepass", "data", "--masterauth", "data", "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	client := connect(t, master, "default", "data")
	eventually(t, "a replica", func() bool {
		return strings.Contains(client.Info(ctx, "replication").Val(), "state=online")
	})
	addrs := []string{"127.0.0.1:1"} // one of them is down
	for range 3 {
		s, err := proc.StartSentinel(ctx, shared.path, t.TempDir(), &shared.ports, fmt.Sprintf(`
sentinel monitor the-master 127.0.0.1 %d 2
sentinel auth-pass the-master data
sentinel down-after-milliseconds the-master 300
sentinel failover-timeout the-master 2000
requirepass guard
sentinel sentinel-pass guard
`, master.Port))
		if err != nil {
			t.Fatal(err)
		}
		stopAfter(t, s)
		addrs = append(addrs, s.Addr())
	}
	s := openAt(t, redis.Options{
		Mode: redis.Sentinel, Master: "the-master", Credentials: known("", "data"), SentinelCredentials: known("", "guard"),
	}, addrs...)
	if nodes := s.Stats().Nodes; len(nodes) != 1 || nodes[0].Addr != "the-master" {
		t.Errorf("the nodes are %+v, want that of the-master", nodes)
	}
	rule := yearly(t, backend.OnErrorFail)
	eventually(t, "readiness", func() bool { return s.Ready(ctx) == nil })
	eventually(t, "a decision", func() bool { return s.decides(t, rule) })
	_, answers := s.decide(t, backend.Look, ask("k", rule, 0))
	used := answers[0].Used
	eventually(t, "the replica has it", func() bool { return client.Wait(ctx, 1, 0).Val() == 1 })
	watcher := connectSentinel(t, addrs[1], "guard")
	eventually(t, "sentinels that know each other and the replica", func() bool {
		about := watcher.Master(ctx, "the-master").Val()
		return about["num-other-sentinels"] == "2" && about["num-slaves"] == "1"
	})
	if err := master.Stop(); err != nil {
		t.Fatal(err)
	}
	s.checkPolicies(t)
	eventually(t, "a decision of the new master", func() bool { return s.decides(t, rule) })
	if _, answers = s.decide(t, backend.Look, ask("k", rule, 0)); answers[0].Used <= used {
		t.Errorf("%d hits are counted, want more than the %d before", answers[0].Used, used)
	}
	if got := connect(t, replica, "default", "data").DBSize(ctx).Val(); got == 0 {
		t.Error("the new master has no keys")
	}
	wrong := openAt(t, redis.Options{Mode: redis.Sentinel, Master: "another", SentinelCredentials: known("", "guard")}, addrs...)
	if err := wrong.Ready(ctx); err == nil || !strings.Contains(err.Error(), "the sentinel "+addrs[1]+` knows no master "another"`) {
		t.Errorf("readiness with a master that nobody knows: %v", err)
	}
}

// TestRD09SentinelTLS meets the sentinel and the server with TLS and a certificate of
// our own, without which neither listens.
func TestRD09SentinelTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ca := newAuthority(t, folder)
	cert, key := ca.issue(t, folder, "server")
	own, err := tls.LoadX509KeyPair(ca.issue(t, folder, "client"))
	if err != nil {
		t.Fatal(err)
	}
	var ports [2]int
	for i := range ports {
		if ports[i], err = shared.ports.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	server := ownServer(t, "--tls-port", strconv.Itoa(ports[0]), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", ca.file, "--tls-auth-clients", "yes")
	sentinel, err := proc.StartSentinel(context.WithoutCancel(t.Context()), shared.path, t.TempDir(), &shared.ports, fmt.Sprintf(`
tls-port %d
tls-replication yes
tls-cert-file %s
tls-key-file %s
tls-ca-cert-file %s
sentinel monitor the-master 127.0.0.1 %d 1
`, ports[1], cert, key, ca.file, ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, sentinel)
	o := redis.Options{
		Mode: redis.Sentinel, Master: "the-master", Budget: patience, KeyPrefix: "sentinel", Database: 3,
		TLS: &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
	}
	if s := openAt(t, o, proc.Loopback(ports[1])); !s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("no decision with TLS")
	}
	o.TLS = nil
	if s := openAt(t, o, sentinel.Addr()); s.decides(t, yearly(t, backend.OnErrorFail)) {
		t.Error("a decision without TLS: the sentinel names the port that wants it")
	}
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, DB: o.Database})
	closeAfter(t, client)
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 1 {
		t.Errorf("%d keys in the database that was asked for, %v", n, err)
	}
}
