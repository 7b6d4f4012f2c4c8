package steer_test

import (
	"testing"
	"time"
)

// TestAlone: without Redis each steers by itself from where all were, and they meet
// again after it.
func TestAlone(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	for range 3 {
		w.busy()
		b.endTurn()
	}
	shared := w.limit()
	down := make(chan struct{})
	broken := &failing{board: b, down: down}
	alone := newWorld(t, oneRule, broken, "one")
	alone.second()
	b.endTurn()
	if got := alone.limit(); got != shared {
		t.Fatalf("limit %d, want %d", got, shared)
	}
	close(down)
	for range 5 {
		alone.busy()
	}
	grown := alone.limit()
	if grown <= shared {
		t.Errorf("limit %d after five healthy seconds without Redis, was %d", grown, shared)
	}
	if n := alone.logs.FilterMessageSnippet("by itself").Len(); n != 1 {
		t.Errorf("%d lines say that the replica is by itself, want 1", n)
	}
	if got := alone.Standings()[0]; got.ReportAge > 1 {
		t.Errorf("the last report is %v s old, want one of this second", got.ReportAge)
	}
	alone.second()
	if got := alone.Standings()[0].ReportAge; got != 1 {
		t.Errorf("the last report is %v s old, want 1", got)
	}
	broken.down = make(chan struct{})
	b.age(time.Minute)
	alone.second()
	if got := alone.limit(); got != grown {
		t.Errorf("limit %d after Redis came back with an old state, want %d", got, grown)
	}
	if got := alone.Standings()[0].ReportAge; got != 2 {
		t.Errorf("the last report is %v s old, want 2", got)
	}
	if n := alone.logs.FilterMessageSnippet("together again").Len(); n != 1 {
		t.Errorf("%d lines say that the replicas are together again, want 1", n)
	}
}

// TestOldState: after a pause of all replicas the news are as old as they are, and
// the limit is where it was: the pause was no silence in which it would have drifted.
func TestOldState(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	w.busy()
	b.endTurn()
	b.age(50 * time.Minute)
	restarted := newWorld(t, oneRule, b, "two")
	restarted.second()
	if got := restarted.Standings()[0].ReportAge; got < 2990 || got > 3060 {
		t.Errorf("the last report is %v s old, want 50 minutes", got)
	}
	if got, want := restarted.limit(), w.limit(); got != want {
		t.Errorf("limit %d, want %d", got, want)
	}
}

// TestNoReportsNoSay: a replica that has heard nothing while Redis was away does not
// overrule what was kept there.
func TestNoReportsNoSay(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	for range 5 {
		w.busy()
		b.endTurn()
	}
	want := w.limit()
	b.age(time.Minute)
	down := make(chan struct{})
	close(down)
	broken := &failing{board: b, down: down}
	restarted := newWorld(t, oneRule, broken, "two")
	for range 7 {
		restarted.second()
	}
	broken.down = make(chan struct{})
	restarted.second()
	if got := restarted.limit(); got != want {
		t.Errorf("limit %d after Redis came back, want %d as before", got, want)
	}
}

// TestNewsWin: of two replicas that were without Redis the one that heard reports is
// followed, whichever has the first turn.
func TestNewsWin(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	down := make(chan struct{})
	knows, ignorant := &failing{board: b, down: make(chan struct{})}, &failing{board: b, down: down}
	close(down)
	one := newWorld(t, oneRule, knows, "one")
	one.busy()
	b.endTurn()
	b.age(time.Minute)
	knows.down = down
	for range 10 {
		one.busy()
	}
	want := one.limit()
	two := newWorld(t, oneRule, ignorant, "two")
	two.second()
	knows.down, ignorant.down = make(chan struct{}), make(chan struct{})
	two.second() // has the turn, and knows nothing better than what was kept
	one.second() // does not follow
	b.endTurn()
	two.second() // reads of it
	one.second()
	if a, b := one.limit(), two.limit(); a != want || b != want {
		t.Errorf("limits %d and %d, want %d", a, b, want)
	}
	b.endTurn()
	one.second()
	two.second()
	if a, b := one.limit(), two.limit(); a != want || b != want {
		t.Errorf("limits %d and %d a second later, want %d", a, b, want)
	}
}

// TestAgeOfStandstill: when nobody steers, the news grow old.
func TestAgeOfStandstill(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	w.busy()
	b.age(time.Minute)
	w.second() // has no turn
	if got := w.Standings()[0].ReportAge; got < 59 || got > 90 {
		t.Errorf("the last report is %v s old, want a minute", got)
	}
}
