package compat

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestPatience bounds a request by the budget, and by its deadline less the reserve.
func TestPatience(t *testing.T) {
	t.Parallel()
	s := &Store{o: Options{Redis: redis.Options{Budget: time.Minute, Reserve: time.Second}}}
	for _, row := range []struct{ deadline, most time.Duration }{ // 0: none
		{0, time.Minute},
		{time.Hour, time.Minute},
		{30 * time.Second, 29 * time.Second},
	} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if row.deadline > 0 {
			ctx, cancel = context.WithTimeout(ctx, row.deadline)
		}
		bounded, end := s.patience(ctx)
		deadline, ok := bounded.Deadline()
		if left := time.Until(deadline); !ok || left > row.most || left < row.most/2 {
			t.Errorf("deadline %v: %v are left, want %v", row.deadline, left, row.most)
		}
		if end(); bounded.Err() == nil {
			t.Errorf("deadline %v: the context goes on", row.deadline)
		}
		cancel()
	}
}

// TestOversAreCounted by the bytes of the keys that are held, whatever has come and
// gone.
func TestOversAreCounted(t *testing.T) {
	t.Parallel()
	const most, names = 1000, 50
	limit, err := algorithms.New(algorithms.Params{Kind: algorithms.FixedWindow, Limit: 1, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	o := newOvers(most)
	for i := range 10 * names {
		o.learn(&counter{ask: &backend.Ask{Rule: &backend.Rule{Limit: limit}}, key: strconv.Itoa(i * i % names), adds: 1}, int64(2+i))
		bytes := 0
		for key := range o.held {
			bytes += len(key) + entryBytes
		}
		if bytes != o.bytes || bytes > most {
			t.Fatalf("step %d: keys of %d bytes count as %d, want %d at most", i, bytes, o.bytes, most)
		}
	}
	if size := entryBytes + 2; len(o.held) < most/size-1 {
		t.Errorf("%d keys are held, want about %d", len(o.held), most/size)
	}
}
