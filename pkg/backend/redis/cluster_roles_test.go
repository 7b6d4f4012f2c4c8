package redis_test

import (
	"slices"
	"testing"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// do sends a command to a master and wants no error.
func (s *clusterStore) do(t *testing.T, master int, args ...any) any {
	t.Helper()
	reply, err := s.masters[master].Do(t.Context(), args...).Result()
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return reply
}

// takeOver has master 1 serve the slots of master 0, which the others forget.
func (s *clusterStore) takeOver(t *testing.T, id any) {
	t.Helper()
	for _, m := range []int{1, 2} {
		s.do(t, m, "CLUSTER", "FORGET", id)
	}
	s.do(t, 1, "CLUSTER", "ADDSLOTSRANGE", 0, slots/3-1)
}

// TestRD02ClusterDown has a master lose its place in the cluster, and another one
// take over its slots. The first still answers, that it serves none.
func TestRD02ClusterDown(t *testing.T) {
	t.Parallel()
	s := openCluster(t, ownCluster(t), redis.Options{Budget: soon})
	rule := yearly(t, backend.OnErrorFail)
	eventually(t, "readiness", func() bool { return s.Ready(t.Context()) == nil })
	key := keyOn(s.prefix, 0)
	decides := func() bool {
		_, answers := s.decide(t, backend.AllOrNothing, ask(key, rule, 1))
		return answers[0].Err == nil
	}
	eventually(t, "a decision", decides)
	id := s.do(t, 0, "CLUSTER", "MYID")
	s.do(t, 0, "FLUSHALL")
	s.do(t, 0, "CLUSTER", "RESET", "HARD")
	eventually(t, "an error", func() bool { return !decides() })
	s.takeOver(t, id)
	eventually(t, "a decision", decides)
	if errors := s.Stats().Errors; errors[redis.ClusterDown] == 0 {
		t.Errorf("errors by kind are %v", errors)
	}
}

// TestRD02NodeLost has the only master end that rls was told of, and another one take
// over its slots much later: the others are asked for the slots as long as that takes.
func TestRD02NodeLost(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	s := openCluster(t, c, redis.Options{})
	told := openAt(t, redis.Options{Mode: redis.Cluster, KeyPrefix: s.prefix}, c.Masters[0].Addr())
	rule := yearly(t, backend.OnErrorFail)
	eventually(t, "readiness", func() bool { return told.Ready(t.Context()) == nil })
	key := keyOn(s.prefix, 0)
	decides := func() bool {
		_, answers := told.decide(t, backend.AllOrNothing, ask(key, rule, 1))
		return answers[0].Err == nil
	}
	eventually(t, "a decision", decides)
	id := s.do(t, 0, "CLUSTER", "MYID")
	if err := c.Masters[0].Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an open breaker", func() bool {
		decides()
		return slices.ContainsFunc(told.Stats().Nodes, func(n redis.NodeStats) bool { return n.Open })
	})
	for _, m := range []int{1, 2} {
		s.do(t, m, "CONFIG", "RESETSTAT")
	}
	eventually(t, "three more questions for the slots", func() bool {
		asked := int64(0)
		for _, s.client = range s.masters[1:] {
			asked += s.calls(t, "cluster|slots")
		}
		return asked >= 3
	})
	s.takeOver(t, id)
	eventually(t, "a decision", decides)
}
