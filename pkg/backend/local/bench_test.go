package local

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
)

func manyKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = strconv.AppendInt([]byte("1:tat:shop:tenant=acme,user="), int64(i), 10)
	}
	return keys
}

func benchmarkDecide(b *testing.B, keys [][]byte, asks int) {
	b.Helper()
	l := newStore(b, Options{})
	rule := gcra(b, 1e9, time.Second)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		req := &backend.Request{Charge: backend.AllOrNothing, Asks: make([]backend.Ask, asks)}
		answers := make([]backend.Answer, asks)
		i := rand.IntN(len(keys))
		for pb.Next() {
			for k := range req.Asks {
				i = (i + 7919) % len(keys)
				req.Asks[k] = backend.Ask{Key: keys[i], Rule: rule, Hits: 1}
			}
			l.Decide(b.Context(), req, answers)
		}
	})
}

func BenchmarkDecideHotKey(b *testing.B)    { benchmarkDecide(b, manyKeys(1), 1) }
func BenchmarkDecideManyKeys(b *testing.B)  { benchmarkDecide(b, manyKeys(100_000), 1) }
func BenchmarkDecideThreeAsks(b *testing.B) { benchmarkDecide(b, manyKeys(100_000), 3) }
