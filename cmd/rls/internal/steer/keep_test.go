package steer_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestKeepFails: a step whose state could not be kept is a step, though Redis has an
// earlier state, and is kept as soon as that works.
func TestKeepFails(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	k := &keepless{board: b}
	w, alone := newWorld(t, oneRule, k, "one"), newWorld(t, oneRule, nil, "")
	busy := func() {
		t.Helper()
		w.busy()
		alone.busy()
		b.endTurn()
		if got, want := w.limit(), alone.limit(); got != want {
			t.Fatalf("limit %d, want %d", got, want)
		}
	}
	busy()
	k.broken = true
	for range 5 {
		busy()
	}
	if n := w.logs.FilterMessageSnippet("by itself").Len(); n != 1 {
		t.Errorf("%d lines say that the replica is by itself, want 1", n)
	}
	rows := func() string { return strings.Join(b.client.HVals(t.Context(), b.key(":rows")).Val(), "\n") }
	if !strings.Contains(rows(), `"memory"`) {
		t.Error("what was not kept is not in the row")
	}
	k.broken = false
	busy()
	busy()
	if strings.Contains(rows(), `"memory"`) {
		t.Error("what was kept is in the row, too")
	}
	other := newWorld(t, oneRule, b, "two")
	other.second()
	if got, want := other.limit(), w.limit(); got != want {
		t.Errorf("another replica has the limit %d, want %d", got, want)
	}
}

// TestKeepFailsWithoutTurn: what a replica knows that could not be kept is left where
// it is until its next turn, or until another one knows better.
func TestKeepFailsWithoutTurn(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	k := &keepless{board: b}
	one, two := newWorld(t, oneRule, k, "one"), newWorld(t, oneRule, b, "two")
	one.busy()
	kept := one.limit()
	b.endTurn()
	k.broken = true
	one.busy()
	grown := one.limit()
	if grown <= kept {
		t.Fatalf("limit %d after a healthy second, was %d", grown, kept)
	}
	one.overload(100) // has no turn
	if got := one.limit(); got != grown {
		t.Errorf("limit %d, want %d as before", got, grown)
	}
	b.endTurn()
	two.second()
	one.second()
	if got, want := one.limit(), two.limit(); got != want {
		t.Errorf("limit %d, want %d as the one that kept it", got, want)
	}
}

// TestKeepFailsHeardOnce: what a row says of reporters counts once, though there is no
// state that says so.
func TestKeepFailsHeardOnce(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	one, two := newWorld(t, oneRule, &keepless{board: b, broken: true}, "one"), newWorld(t, oneRule, b, "two")
	one.second()
	two.report("a", 0, answers(400, 400, 0, 20*time.Millisecond), true)
	two.second() // has no turn
	for i, want := range []int{1, 0} {
		b.endTurn()
		one.second()
		if got := one.Standings()[0].Reporters; got != want {
			t.Errorf("tick %d: %d reporters, want %d", i, got, want)
		}
	}
}

// refusing is a board that fails.
type refusing struct{ err error }

func (r refusing) Share(_ context.Context, _ string, posts []redis.Post, _ time.Duration) []redis.Shared {
	all := make([]redis.Shared, len(posts))
	for i := range all {
		all[i].Err = r.err
	}
	return all
}

func (refusing) Keep(context.Context, []redis.State) []error { return nil }

// TestTell: the log tells a Redis that is slow from one that fails.
func TestTell(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"slow", fmt.Errorf("sharing: %w", os.ErrDeadlineExceeded), "redis did not answer for all in time"},
		{"down", fmt.Errorf("sharing: %w", redis.ErrOpen), "redis fails"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneRule, refusing{row.err}, "one")
			w.busy()
			w.busy()
			if n := w.logs.FilterMessageSnippet(row.want).Len(); n != 1 {
				t.Errorf("%d lines say %q, want 1", n, row.want)
			}
			if got := w.limit(); got <= 400 {
				t.Errorf("limit %d after healthy seconds, want growth", got)
			}
		})
	}
}

// late is a board whose every answer takes a caller's whole patience.
type late struct {
	*board

	until time.Time
	kept  int
}

func (l *late) Share(ctx context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared {
	l.until, _ = ctx.Deadline()
	<-ctx.Done()
	return l.board.Share(context.WithoutCancel(ctx), replica, posts, turn)
}

func (l *late) Keep(ctx context.Context, states []redis.State) []error {
	if until, ok := ctx.Deadline(); ok && until.After(l.until) {
		l.kept += len(states)
	}
	return l.board.Keep(context.WithoutCancel(ctx), states)
}

// TestSlowBoard: who waited long to be told has time to keep what follows.
func TestSlowBoard(t *testing.T) {
	t.Parallel()
	l := &late{board: newBoard(t)}
	w := newWorld(t, oneRule, nil, "")
	w.Steering = steer.New(steer.Options{
		Book: &w.book, Board: l, Replica: "one", Log: zap.NewNop(), Now: func() time.Time { return w.now }, Patience: time.Millisecond,
	})
	w.load(oneRule)
	for range 3 {
		w.busy()
		l.endTurn()
	}
	if l.kept != 3 {
		t.Errorf("%d states are kept, want 3", l.kept)
	}
}

// counting is a board that says what a tick asks of it.
type counting struct {
	*board

	shares, keeps, posts, states int
	rows                         [][]byte
}

func (c *counting) Share(ctx context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared {
	c.shares++
	c.posts += len(posts)
	for _, p := range posts {
		c.rows = append(c.rows, p.Row)
	}
	return c.board.Share(ctx, replica, posts, turn)
}

func (c *counting) Keep(ctx context.Context, states []redis.State) []error {
	c.keeps++
	c.states += len(states)
	return c.board.Keep(ctx, states)
}

// TestTrips: a tick asks twice, whatever the number of rules, and what is known of a
// target is left once for all of its rules.
func TestTrips(t *testing.T) {
	t.Parallel()
	c := &counting{board: newBoard(t)}
	w := newWorld(t, manyRules(100, 20), c, "one")
	w.report("a", 0, answers(100, 100, 0, 20*time.Millisecond), true)
	w.second()
	if c.shares != 1 || c.keeps != 1 || c.posts != 20 || c.states != 100 {
		t.Errorf("%d calls with %d rows and %d with %d states, want one of 20 and one of 100", c.shares, c.posts, c.keeps, c.states)
	}
	named := 0
	for _, row := range c.rows {
		named += strings.Count(string(row), `"r":"a"`)
	}
	if named != 1 {
		t.Errorf("the reporter is named %d times, want once", named)
	}
	for _, s := range w.Standings() {
		if want := map[string]int{"checkout": 1}[s.Target]; s.Reporters != want {
			t.Errorf("%s has %d reporters, want %d", s.Rule, s.Reporters, want)
		}
	}
}
