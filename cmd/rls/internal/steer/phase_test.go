package steer_test

import (
	"context"
	"math"
	"slices"
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

type asked struct {
	At      float64 // s since the start
	Replica string
}

// turns is a board that gives turns as Redis does, and notes who took one when.
type turns struct {
	mu    sync.Mutex
	until map[string]time.Time // by rule
	took  []asked
	asked []asked
	began time.Time
}

func (b *turns) Share(_ context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := asked{time.Since(b.began).Seconds(), replica}
	b.asked = append(b.asked, now)
	all := make([]redis.Shared, len(posts))
	for i, p := range posts {
		all[i] = redis.Shared{At: time.Now(), Parts: make([]redis.Part, len(p.Parts))}
		for k, part := range p.Parts {
			if left := time.Until(b.until[part]); left <= 0 || left > 2*turn {
				b.until[part], all[i].Parts[k].Turn = time.Now().Add(turn), true
				b.took = append(b.took, now)
			}
		}
	}
	return all
}

func (b *turns) Keep(_ context.Context, states []redis.State) []error {
	return make([]error, len(states))
}

// hold keeps the turn of a rule, or of all, from everybody for a while.
func (b *turns) hold(d time.Duration, rules ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rule := range rules {
		b.until["shop\x00"+rule] = time.Now().Add(d)
	}
}

// TestLeader: of several replicas one comes to step for all, after the others have left
// what they know, until it is late or ends; then another does.
func TestLeader(t *testing.T) {
	t.Parallel()
	const tenth = time.Second / 10
	synctest.Test(t, func(t *testing.T) {
		b := &turns{until: map[string]time.Time{}, began: time.Now()}
		end := map[string]context.CancelFunc{}
		run := func(replica string) {
			var ctx context.Context
			ctx, end[replica] = context.WithCancel(t.Context())
			s := steer.New(steer.Options{Book: &diary{}, Board: b, Replica: replica, Log: zap.NewNop(), Now: time.Now})
			s.Prepare(bound(t, twoRules))
			go s.Run(ctx)
		}
		run("one")
		time.Sleep(16 * tenth)
		run("two")
		run("three")
		time.Sleep(10 * tenth)
		b.hold(6*tenth, "shop.b_b") // another gets this one at 3.3
		time.Sleep(30 * tenth)
		b.hold(10*tenth, "shop.a_a", "shop.b_b") // the leader asks in vain at 6.5
		time.Sleep(42 * tenth)                   // to 9.8
		end[b.last()]()
		time.Sleep(40 * tenth)
		synctest.Wait()
		var times []float64
		for i, step := range b.took {
			times = append(times, step.At)
			if i > 0 && step.At < 6 && step.At != 3.3 && step.Replica != "one" {
				t.Errorf("%s stepped at %v, though one leads", step.Replica, step.At)
			}
		}
		want := []float64{0.3, 0.3, 1.5, 1.5, 2.5, 2.5, 3.3, 3.5, 4.5, 4.5, 5.5, 5.5, 7.3, 7.3, 8.5, 8.5, 9.5, 9.5, 11.3, 11.3, 12.5, 12.5, 13.5, 13.5}
		if diff := cmp.Diff(want, times); diff != "" {
			t.Error(diff)
		}
		for _, a := range b.asked {
			if a.At != 6.5 && a.At-math.Floor(a.At) == 0.5 && !slices.Contains(b.took, a) {
				t.Errorf("%s asked at %v as if it led", a.Replica, a.At)
			}
		}
	})
}

// last is who took a turn last.
func (b *turns) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.took[len(b.took)-1].Replica
}

// TestSkew: replicas whose clocks differ step for all once a second.
func TestSkew(t *testing.T) {
	t.Parallel()
	for _, skew := range []int{0, 90, 110, 150, 190, 210, 500, 810, 900} {
		synctest.Test(t, func(t *testing.T) {
			b := &turns{until: map[string]time.Time{}, began: time.Now()}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			for i, replica := range []string{"one", "two"} {
				behind := time.Duration(i*skew) * time.Millisecond
				s := steer.New(steer.Options{Book: &diary{}, Board: b, Replica: replica, Log: zap.NewNop(), Now: func() time.Time { return time.Now().Add(-behind) }})
				s.Prepare(bound(t, oneRule))
				go s.Run(ctx)
				time.Sleep(2 * time.Second)
			}
			time.Sleep(20 * time.Second)
			end()
			synctest.Wait()
			for i := 1; i < len(b.took); i++ {
				const settled = 10 // s, until then who leads is found out
				if after := b.took[i].At - b.took[i-1].At; b.took[i].At > settled && (after < 0.5 || after > 1.5) {
					t.Errorf("%d ms behind: a step %.2f s after the one before", skew, after)
				}
			}
		})
	}
}
