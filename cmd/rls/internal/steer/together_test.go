package steer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/eb50146d/rls/cmd/rls/internal/steer"
	"github.com/eb50146d/rls/pkg/backend/redis"
	"github.com/eb50146d/rls/test/proc"
)

// board is Redis as the replicas of one test share it. Turns end when the test says
// so, or when Redis thinks that the second is over.
type board struct {
	*redis.Redis

	t      *testing.T
	server *proc.Redis
	client *goredis.Client
}

func newBoard(t *testing.T) *board {
	t.Helper()
	path, err := proc.FindRedis()
	if err != nil {
		t.Fatal(err)
	}
	var ports proc.Ports
	server, err := proc.StartRedis(context.WithoutCancel(t.Context()), path, &ports)
	if err != nil {
		t.Fatal(err)
	}
	b := &board{t: t, server: server, client: goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2})}
	if b.Redis, err = redis.New(redis.Options{Addrs: []string{server.Addr()}, Budget: time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, end := range []func() error{b.client.Close, b.Close, server.Stop} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

// key finds the one key whose name ends so.
func (b *board) key(suffix string) string {
	b.t.Helper()
	keys, err := b.client.Keys(b.t.Context(), "*"+suffix).Result()
	if err != nil || len(keys) != 1 {
		b.t.Fatalf("keys %q (error %v), want one that ends in %s", keys, err, suffix)
	}
	return keys[0]
}

// Share has turns that only the test ends, so that no wall clock matters.
func (b *board) Share(ctx context.Context, name, replica string, row []byte, _ time.Duration) (redis.Shared, error) {
	return b.Redis.Share(ctx, name, replica, row, time.Hour) //nolint:wrapcheck // a test
}

func (b *board) endTurn() {
	b.t.Helper()
	if err := b.client.Del(b.t.Context(), b.key(":turn")).Err(); err != nil {
		b.t.Fatal(err)
	}
}

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
	const passed = `{"passages": [{"start": 1, "end": 0, "admitted": 300}, {"start": 5, "end": 4, "admitted": 70}], "seen": []}`
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

// age makes the state that is shared older.
func (b *board) age(by time.Duration) {
	b.t.Helper()
	key := b.key(":state")
	data, err := b.client.Get(b.t.Context(), key).Bytes()
	if err != nil {
		b.t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		b.t.Fatal(err)
	}
	state["at"] = time.Now().Add(-by)
	if data, err = json.Marshal(state); err != nil {
		b.t.Fatal(err)
	}
	if err := b.client.Set(b.t.Context(), key, data, time.Hour).Err(); err != nil {
		b.t.Fatal(err)
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

// TestEveryRuleIsSteered: those that Redis does not answer for, too.
func TestEveryRuleIsSteered(t *testing.T) {
	t.Parallel()
	down := make(chan struct{})
	close(down)
	var text strings.Builder
	text.WriteString("domain: shop\ndescriptors:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  - {key: k, value: v%d, rate_limit: {algorithm: adaptive, requests_per_unit: 9, unit: second, adaptive: {min_limit: 1, max_limit: 99}}}\n", i)
	}
	b := newBoard(t)
	for _, board := range []steer.Board{b.Redis, &failing{board: b, down: down}} {
		w := newWorld(t, text.String(), board, "one")
		w.second()
		for _, n := range w.Standings() {
			if n.Reason != "holding: no reports" {
				t.Errorf("%s: %s", n.Rule, n.Reason)
			}
		}
	}
}

// TestKeepFails: a step whose state could not be kept is a step.
func TestKeepFails(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	w := newWorld(t, oneRule, keepless{b}, "one")
	alone := newWorld(t, oneRule, nil, "")
	for range 5 {
		w.busy()
		alone.busy()
		b.endTurn()
	}
	if got, want := w.limit(), alone.limit(); got != want {
		t.Errorf("limit %d after five steps that were not kept, want %d", got, want)
	}
}

type keepless struct{ *board }

func (keepless) Keep(context.Context, string, []byte) error { return errors.New("not kept") }

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

// failing is a board whose server does not answer while down is closed.
type failing struct {
	*board

	down chan struct{}
}

func (f *failing) Share(ctx context.Context, name, replica string, row []byte, turn time.Duration) (redis.Shared, error) {
	select {
	case <-f.down:
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return f.Redis.Share(ended, name, replica, row, turn) //nolint:wrapcheck // a test
	default:
		return f.board.Share(ctx, name, replica, row, turn)
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
