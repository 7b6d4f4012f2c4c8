package redis_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// BenchmarkDecide has 64 callers decide gcra asks of 100,000 keys. make bench says
// what that costs Redis, and beside which naive client.
func BenchmarkDecide(b *testing.B) {
	store, err := redis.New(redis.Options{Addrs: []string{shared.shared.Addr()}, Budget: patience})
	if err != nil {
		b.Fatal(err)
	}
	closeAfter(b, store)
	rule := newRule(b, algorithms.Params{Kind: algorithms.GCRA, Limit: 1000, Window: time.Second})
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		key := make([]byte, 0, 64)
		answers := make([]backend.Answer, 1)
		for pb.Next() {
			key = strconv.AppendInt(append(key[:0], "..bench.user_id."...), rand.Int64N(100_000), 10)
			store.Decide(b.Context(), &backend.Request{
				Charge: backend.AllOrNothing, Asks: []backend.Ask{{Key: key, Rule: rule, Hits: 1}},
			}, answers)
		}
	})
}
