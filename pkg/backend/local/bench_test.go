package local

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

func newRule(tb testing.TB, p algorithms.Params) *backend.Rule {
	tb.Helper()
	limit, err := algorithms.New(p)
	if err != nil {
		tb.Fatal(err)
	}
	return &backend.Rule{Limit: limit, Group: 1, OnError: backend.OnErrorFail}
}

func gcra(tb testing.TB, limit int64, window time.Duration) *backend.Rule {
	tb.Helper()
	return newRule(tb, algorithms.Params{Kind: algorithms.GCRA, Limit: limit, Window: window})
}

func newStore(tb testing.TB, o Options) *Local {
	tb.Helper()
	l := New(o)
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func manyKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = strconv.AppendInt([]byte("1:tat:shop:tenant=acme,user="), int64(i), 10)
	}
	return keys
}

func benchmarkDecide(b *testing.B, keys [][]byte, asks int) {
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
