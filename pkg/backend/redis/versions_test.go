package redis_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestUP02OtherVersions has another version of rls keep what it likes under its own
// keys of the same identity: nobody reads or changes that, nor fails for it.
func TestUP02OtherVersions(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clean := open(t, shared.shared, redis.Options{}), open(t, shared.shared, redis.Options{})
			others := map[string]string{s.prefix + "0{}k": "string", s.prefix + "2{}k": "hash", s.prefix + "2#{}k": "list"}
			var before []string
			for key, kind := range others {
				var err error
				switch kind {
				case "string":
					err = s.client.Set(t.Context(), key, "9 9 9", 0).Err()
				case "hash":
					err = s.client.HSet(t.Context(), key, "9", "9").Err()
				default:
					err = s.client.RPush(t.Context(), key, "9 9 9").Err()
				}
				if err != nil {
					t.Fatal(err)
				}
				s.client.PExpire(t.Context(), key, time.Hour)
				before = append(before, key, s.client.Dump(t.Context(), key).Val())
			}
			r := newRule(t, p)
			for _, hits := range []int64{3, 3, -1, 0, 3} {
				want, got := make([]backend.Answer, 1), make([]backend.Answer, 1)
				req := &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("k", r, hits)}}
				wantVerdict, gotVerdict := clean.Decide(t.Context(), req, want), s.Decide(t.Context(), req, got)
				if wantVerdict != gotVerdict || got[0].Err != nil || got[0].Used != want[0].Used {
					t.Errorf("%d hits: %+v, beside no other version %+v", hits, got, want)
				}
			}
			for i := 0; i < len(before); i += 2 {
				if diff := cmp.Diff(before[i+1], s.client.Dump(t.Context(), before[i]).Val()); diff != "" {
					t.Errorf("key %q (-before +after):\n%s", before[i], diff)
				}
			}
		})
	}
}
