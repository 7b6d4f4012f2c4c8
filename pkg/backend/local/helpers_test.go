package local

import (
	"fmt"
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

// idle keeps the sweeper from ever starting by itself.
const idle = 10_000 * time.Hour

// sweepRound sweeps the whole store once.
func sweepRound(l *Local) {
	l.sweepPage()
	for l.sweeper != (sweeper{}) {
		l.sweepPage()
	}
}

func fillKeys(tb testing.TB, l *Local, rule *backend.Rule, first, n int) {
	tb.Helper()
	req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{{Rule: rule, Hits: 1}}}
	answers := make([]backend.Answer, 1)
	for i := range n {
		req.Asks[0].Key = fmt.Appendf(req.Asks[0].Key[:0], "1:tat:shop:tenant,user=%d", first+i)
		l.Decide(tb.Context(), req, answers)
	}
}

// decide sends one request and wants the answers' Allowed.
func decide(t *testing.T, l *Local, charge backend.Charge, asks []backend.Ask, want ...bool) {
	t.Helper()
	answers := make([]backend.Answer, len(asks))
	l.Decide(t.Context(), &backend.Request{Charge: charge, Asks: asks}, answers)
	for i, answer := range answers {
		if answer.Allowed != want[i] {
			t.Errorf("%s: %d hits allowed: %t, want %t", asks[i].Key, asks[i].Hits, answer.Allowed, want[i])
		}
	}
}

func asks(all ...backend.Ask) []backend.Ask { return all }

func ask(key string, rule *backend.Rule, hits int64) backend.Ask {
	return backend.Ask{Key: []byte(key), Rule: rule, Hits: hits}
}
