package redis_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestMemory weighs gcra keys as long as those of a short descriptor.
func TestMemory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit int64 // in 366 days
		most  int64 // bytes a key
	}{
		{"whole intervals", 100_000, 140},
		{"intervals with a fraction", 100_003, 190},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := ownServer(t)
			s := open(t, server, redis.Options{})
			r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: test.limit, Window: algorithms.MaxWindow})
			before := s.usedMemory(t)
			const goroutines = 64
			inParallel(goroutines, func(g int) {
				for i := g; i < memoryKeys; i += goroutines {
					s.decide(t, backend.AllOrNothing, ask("..domain.user_id."+strconv.Itoa(100_000+i), r, 1))
				}
			})
			size := s.client.DBSize(t.Context()).Val()
			if got := (s.usedMemory(t) - before) / memoryKeys; got > test.most || size != memoryKeys {
				t.Errorf("%d keys take %d bytes each, want at most %d", size, got, test.most)
			}
		})
	}
}

// usedMemory is all memory of the server, in bytes.
func (s *store) usedMemory(t *testing.T) int64 {
	t.Helper()
	return s.info(t, "memory", "used_memory")
}

// info is a number that the server tells of itself.
func (s *store) info(t *testing.T, section, field string) int64 {
	t.Helper()
	info, err := s.client.Info(t.Context(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "\n"+field+":")
	text, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
