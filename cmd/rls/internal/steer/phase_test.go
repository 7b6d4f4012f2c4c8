package steer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// diary notes when it was asked.
type diary struct{ asked []time.Time }

func (d *diary) SetTargets([]string) {}

func (d *diary) Take(string) []feedback.Observation {
	d.asked = append(d.asked, time.Now())
	return nil
}

func bound(t *testing.T, text string) *rules.Set {
	t.Helper()
	tree, findings := descriptors.Compile([]descriptors.Source{{Name: "rules.yaml", Data: []byte(text)}}, descriptors.Options{})
	if tree == nil {
		t.Fatal(findings)
	}
	return rules.Bind(tree, rules.Options{}, telemetry.New("test"))
}

// TestPhase: whenever a process starts, its ticks come soon after the seconds of the
// wall clock by which an access log is read.
func TestPhase(t *testing.T) {
	t.Parallel()
	const phase = 300 * time.Millisecond
	for _, start := range []time.Duration{0, 51 * time.Millisecond, 299 * time.Millisecond, phase, 450 * time.Millisecond, 999 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(start) // the bubble's clock begins with a full second
			var d diary
			s := steer.New(steer.Options{Book: &d, Log: zap.NewNop(), Now: time.Now})
			s.Prepare(bound(t, oneRule))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			s.Run(ctx)
			if n := len(d.asked); n < 9 || n > 10 {
				t.Fatalf("%d ticks in ten seconds", n)
			}
			if wait := d.asked[0].Sub(began); wait < steer.Interval/4 {
				t.Errorf("started at %v: the first tick after %v, want a quarter of a second at least", start, wait)
			}
			for i, at := range d.asked {
				if diff := cmp.Diff(phase, time.Duration(at.Nanosecond())); diff != "" {
					t.Errorf("started at %v, tick %d: %s", start, i, diff)
				}
			}
		})
	}
}

type taken struct {
	At      float64 // s since the start
	Replica string
}

// turns is a board that gives turns as Redis does, and notes who took one when.
type turns struct {
	mu    sync.Mutex
	until map[string]time.Time // by rule
	took  []taken
	began time.Time
}

func (b *turns) Share(_ context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]redis.Shared, len(posts))
	for i, p := range posts {
		all[i] = redis.Shared{At: time.Now(), Parts: make([]redis.Part, len(p.Parts))}
		for k, part := range p.Parts {
			if left := time.Until(b.until[part]); left <= 0 || left > turn {
				b.until[part], all[i].Parts[k].Turn = time.Now().Add(turn), true
				b.took = append(b.took, taken{time.Since(b.began).Seconds(), replica})
			}
		}
	}
	return all
}

func (b *turns) Keep(_ context.Context, states []redis.State) []error {
	return make([]error, len(states))
}

// TestLeader: of several replicas one comes to step for all, after the others have left
// what they know, until it ends; then another does.
func TestLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &turns{until: map[string]time.Time{}, began: time.Now()}
		run := func(ctx context.Context, replica string) {
			s := steer.New(steer.Options{Book: &diary{}, Board: b, Replica: replica, Log: zap.NewNop(), Now: time.Now})
			s.Prepare(bound(t, twoRules))
			go s.Run(ctx)
		}
		first, end := context.WithCancel(t.Context())
		run(first, "one")
		time.Sleep(1500 * time.Millisecond) // it leads
		run(t.Context(), "two")
		run(t.Context(), "three")
		time.Sleep(4 * time.Second)
		end()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		next := b.took[len(b.took)-1].Replica
		var want []taken
		for _, tick := range []taken{
			{0.3, "one"}, {1.5, "one"}, {2.5, "one"}, {3.5, "one"}, {4.5, "one"}, {5.5, "one"}, {7.3, next}, {8.5, next}, {9.5, next}, {10.5, next}, {11.5, next},
		} {
			want = append(want, tick, tick) // of both rules
		}
		if diff := cmp.Diff(want, b.took); diff != "" {
			t.Error(diff)
		}
	})
}
