package steer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// diary notes when it was asked.
type diary struct{ asked []time.Time }

func (d *diary) SetTargets([]string) {}

func (d *diary) Take(string) []feedback.Observation {
	d.asked = append(d.asked, time.Now())
	return nil
}

// TestPhase: whenever a process starts, its ticks come soon after the seconds of the
// wall clock by which an access log is read.
func TestPhase(t *testing.T) {
	t.Parallel()
	const phase = 300 * time.Millisecond
	for _, start := range []time.Duration{0, 100 * time.Millisecond, 299 * time.Millisecond, phase, 450 * time.Millisecond, 999 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(start) // the bubble's clock begins with a full second
			tree, findings := descriptors.Compile([]descriptors.Source{{Name: "rules.yaml", Data: []byte(oneRule)}}, descriptors.Options{})
			if tree == nil {
				t.Fatal(findings)
			}
			var d diary
			s := steer.New(steer.Options{Book: &d, Log: zap.NewNop(), Now: time.Now})
			s.Prepare(rules.Bind(tree, rules.Options{}, telemetry.New("test")))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			s.Run(ctx)
			if n := len(d.asked); n < 9 || n > 10 {
				t.Fatalf("%d ticks in ten seconds", n)
			}
			if wait := d.asked[0].Sub(began); wait < steer.Interval/2 {
				t.Errorf("started at %v: the first tick after %v, want half a second at least", start, wait)
			}
			for i, at := range d.asked {
				if diff := cmp.Diff(phase, time.Duration(at.Nanosecond())); diff != "" {
					t.Errorf("started at %v, tick %d: %s", start, i, diff)
				}
			}
		})
	}
}
