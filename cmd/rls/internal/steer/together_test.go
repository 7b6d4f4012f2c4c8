package steer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
)

// together lets a second pass on two replicas, of which one hears the reporter, and
// has the other steer.
func together(b *board, steers, hears *world) {
	b.t.Helper()
	n := int(steers.limit()) / 2
	for _, w := range []*world{steers, hears} {
		w.pass(n, 50)
		w.now = w.now.Add(time.Second)
	}
	hears.report("a", 0, answers(uint64(2*n), uint64(2*n), 0, 20*time.Millisecond), true)
	hears.Tick(b.t.Context())
	b.endTurn()
	steers.Tick(b.t.Context())
}

func TestTogether(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	one, two := newWorld(t, oneRule, b, "one"), newWorld(t, oneRule, b, "two")
	for range 30 {
		together(b, one, two)
		together(b, two, one)
	}
	one.second() // learns what two did
	if a, b := one.limit(), two.limit(); a != b || a <= 410 {
		t.Errorf("limits %d and %d, want the same and growth", a, b)
	}
	if a, b := one.Limits()[0], two.Limits()[0]; a.GetReason() != b.GetReason() || !a.GetChangedAt().AsTime().Equal(b.GetChangedAt().AsTime()) {
		t.Errorf("%v and %v, want the same", a, b)
	}
	for _, suffix := range []string{":state", ":rows", ":turn"} {
		if ttl := b.client.PTTL(t.Context(), b.key(suffix)).Val(); ttl <= 0 {
			t.Errorf("%s has no expiry", suffix)
		}
	}

	restarted := newWorld(t, oneRule, b, "three")
	if got := restarted.limit(); got != 400 {
		t.Errorf("limit %d before the first tick, want 400", got)
	}
	restarted.second()
	if got, want := restarted.limit(), one.limit(); got != want {
		t.Errorf("limit %d after a restart, want %d", got, want)
	}
	if n := restarted.logs.FilterMessage("adaptive limit moved").Len(); n != 0 {
		t.Errorf("%d lines tell of a move, though the limit was read back", n)
	}
}

// TestAddsUp: what passes is the sum of all replicas, and a reporter that speaks to
// two of them is one.
func TestAddsUp(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	one, two := newWorld(t, oneRule, b, "one"), newWorld(t, oneRule, b, "two")
	one.second()
	two.second()
	b.endTurn()
	for _, w := range []*world{one, two} {
		w.pass(200, 0)
		w.now = w.now.Add(time.Second)
		w.report("proxy", 0, answers(200, 100, 0, time.Second), true)
	}
	one.Tick(t.Context()) // steers by its own row
	b.endTurn()
	two.Tick(t.Context()) // steers by both, but has heard the first before
	b.endTurn()
	if got := two.Standings()[0]; got.Reporters != 1 || got.Delivered < 90 || got.Delivered > 210 {
		t.Errorf("%+v, want 1 reporter and half of what passed", got)
	}
	one.now, two.now = one.now.Add(time.Second), two.now.Add(time.Second)
	one.Tick(t.Context())
	if got := one.Standings()[0]; got.Reporters != 0 {
		t.Errorf("%d reporters: what was heard once was heard again", got.Reporters)
	}
}

// TestOlderRows: what a row tells is as much longer ago as the row is old.
func TestOlderRows(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	w.second()
	b.endTurn()
	at, err := b.client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	const passed = `{"rules": {"shop\u0000checkout": {"passages": [[1, 0, 300], [5, 4, 70]]}}, "seen": []}`
	if err := b.client.HSet(t.Context(), b.key(":rows"), "two", fmt.Sprintf("%d %s", at.Add(-4*time.Second).UnixMicro(), passed)).Err(); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Second)
	w.report("a", 4*time.Second, answers(100, 100, 0, 20*time.Millisecond), true)
	w.Tick(t.Context())
	if got := w.Standings()[0].Delivered; got < 250 || got > 300.001 {
		t.Errorf("%.0f a second delivered four seconds ago, want about 300", got)
	}
}

// manyRules are rules of so many targets, of which the first is checkout.
func manyRules(n, targets int) string {
	var text strings.Builder
	text.WriteString("domain: shop\ndescriptors:\n")
	for i := range n {
		target := "checkout"
		if i%targets > 0 {
			target = fmt.Sprint("t", i%targets)
		}
		fmt.Fprintf(&text, "  - {key: k, value: v%d, rate_limit: {algorithm: adaptive, requests_per_unit: 9, unit: second, adaptive: {min_limit: 1, max_limit: 99, target: %s}}}\n", i, target)
	}
	return text.String()
}

// TestEveryRuleIsSteered: those that Redis does not answer for, too.
func TestEveryRuleIsSteered(t *testing.T) {
	t.Parallel()
	down := make(chan struct{})
	close(down)
	b := newBoard(t)
	for _, board := range []steer.Board{b.Redis, &failing{board: b, down: down}} {
		w := newWorld(t, manyRules(100, 100), board, "one")
		w.second()
		for _, n := range w.Standings() {
			if n.Reason != "holding: no reports" {
				t.Errorf("%s: %s", n.Rule, n.Reason)
			}
		}
	}
}

// TestGarbage: what cannot be read is logged and does not stop the rule.
func TestGarbage(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, b, "one")
	w.busy()
	b.endTurn()
	before := w.limit()
	for _, garbage := range []string{"no JSON", `{"state": {}}`, `{"state": {"limit": -1}}`, `{"coverage": 1}`} {
		if err := b.client.Set(t.Context(), b.key(":state"), garbage, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.client.HSet(t.Context(), b.key(":rows"), "odd", fmt.Sprintf("%d %s", time.Now().UnixMicro(), garbage)).Err(); err != nil {
			t.Fatal(err)
		}
		w.busy()
		b.endTurn()
	}
	if got := w.limit(); got <= before {
		t.Errorf("limit %d after healthy seconds, was %d", got, before)
	}
	state := w.logs.FilterMessageSnippet("state in redis cannot be read").Len()
	rows := w.logs.FilterMessageSnippet("row of a replica cannot be read").Len()
	if state != 4 || rows == 0 {
		t.Errorf("%d lines about the state and %d about rows, want 4 and some", state, rows)
	}
	if got := w.Limits()[0].GetReason(); strings.Contains(got, "garbage") {
		t.Errorf("reason %q", got)
	}
}
