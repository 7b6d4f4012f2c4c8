package redis_test

import (
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// windowed counts what one window of Redis' clock was asked for and granted.
type windowed struct{ asked, granted int64 }

// TestRD06EveryWindow has two backends ask by turns, much faster than the limit: each
// window of Redis' clock grants exactly that, or all that it was asked for.
func TestRD06EveryWindow(t *testing.T) {
	t.Parallel()
	const limit, windows = 10, 10
	const length = 100 * time.Millisecond
	for _, row := range []struct {
		name  string
		kind  algorithms.Kind
		exact bool // whether a window grants its limit; else it may be less
	}{
		{"fixed", algorithms.FixedWindow, true},
		{"log", algorithms.SlidingLog, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			one := open(t, shared.shared, redis.Options{})
			two := openAt(t, redis.Options{Budget: patience, KeyPrefix: one.prefix}, shared.shared.Addr())
			rule := newRule(t, algorithms.Params{Kind: row.kind, Limit: limit, Window: length})
			counts := map[int64]*windowed{}
			var ends [2]time.Duration // of the window, by backend
			for n := 0; len(counts) < windows; n++ {
				s := [2]*store{one, two}[n%2]
				_, answers := s.decide(t, backend.AllOrNothing, ask("k", rule, 1))
				a := &answers[0]
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				w := counts[a.Now/int64(length)]
				if w == nil {
					w = &windowed{}
					counts[a.Now/int64(length)] = w
				}
				w.asked++
				if a.Allowed {
					w.granted++
				}
				if ends[n%2] = time.Duration(a.Now) + a.ResetAfter; row.exact && ends[n%2]%length != 0 {
					t.Errorf("backend %d says that the window ends at %v", n%2, ends[n%2])
				}
			}
			for at, w := range counts {
				if w.granted > limit || row.exact && w.granted != min(w.asked, limit) {
					t.Errorf("window %d grants %d of %d hits, want %d", at, w.granted, w.asked, min(w.asked, limit))
				}
			}
		})
	}
}
