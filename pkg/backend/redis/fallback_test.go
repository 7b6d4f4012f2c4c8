package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// TestErrorsByPolicy has one of two asks fail and wants the other one charged
// unless the request is refused.
func TestErrorsByPolicy(t *testing.T) {
	t.Parallel()
	shadow, quota := backend.Shadow, backend.Quota
	tests := []struct {
		name    string
		policy  backend.OnError
		mode    backend.Mode
		hits    int64 // of the other ask, of 5
		verdict backend.Verdict
		left    int64 // of the other ask
	}{
		{"error", backend.OnErrorFail, 0, 1, backend.Failed, 4},
		{"error beside a refusal", backend.OnErrorFail, 0, 6, backend.OverLimit, 5},
		{"error in shadow", backend.OnErrorFail, shadow, 1, backend.OK, 4},
		{"allow", backend.OnErrorAllow, 0, 1, backend.OK, 4},
		{"deny", backend.OnErrorDeny, 0, 1, backend.OverLimit, 5},
		{"deny in shadow", backend.OnErrorDeny, shadow, 1, backend.OK, 4},
		{"deny of the only quota", backend.OnErrorDeny, quota, 1, backend.OverLimit, 5},
		{"deny of a quota in shadow", backend.OnErrorDeny, quota | shadow, 1, backend.OK, 4},
		{"local admits", backend.OnErrorLocal, 0, 1, backend.OK, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := local.New(local.Options{})
			closeAfter(t, store)
			s := open(t, shared.shared, redis.Options{Local: store})
			r := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
			failing := newRule(t, algorithms.Params{Kind: algorithms.SlidingLog, Limit: 5, Window: time.Hour})
			failing.OnError = test.policy
			s.plant(t, "bad", func(key string) error { return s.client.Set(t.Context(), key, "x", time.Hour).Err() })
			bad := ask("bad", failing, 1)
			bad.Mode = test.mode
			before := s.Stats().Nodes[0].Asks
			verdict, answers := s.decide(t, backend.AllOrNothing, bad, ask("good", r, test.hits))
			if verdict != test.verdict || answers[0].Err == nil || !strings.Contains(answers[0].Err.Error(), "WRONGTYPE") {
				t.Errorf("verdict is %d, want %d: %+v", verdict, test.verdict, answers)
			}
			if got := s.Stats().Nodes[0].Asks - before; got != 2 {
				t.Errorf("%d asks, want the two alone: Redis knows the policy", got)
			}
			_, answers = s.decide(t, backend.AllOrNothing, ask("good", r, 0))
			if answers[0].Remaining != test.left {
				t.Errorf("%d left of the other ask, want %d", answers[0].Remaining, test.left)
			}
		})
	}
}

// TestWithoutRedis asks a server that is not there.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	stand := local.New(local.Options{})
	closeAfter(t, stand)
	r, err := redis.New(redis.Options{Addrs: []string{"127.0.0.1:1"}, Budget: patience, Local: stand})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	if r.Ready(t.Context()) == nil {
		t.Error("a server that is not there is ready")
	}
	rule := func(policy backend.OnError) *backend.Rule {
		rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 2, Window: time.Hour})
		rule.OnError = policy
		return rule
	}
	s := &store{Redis: r}
	var got []backend.Verdict
	for policy := backend.OnErrorFail; policy <= backend.OnErrorDeny; policy++ {
		verdict, _ := s.decide(t, backend.AllOrNothing, ask("k", rule(policy), 1))
		got = append(got, verdict)
	}
	byLocal := rule(backend.OnErrorLocal)
	for range 3 {
		verdict, answers := s.decide(t, backend.AllOrNothing, ask("k", byLocal, 1))
		got = append(got, verdict)
		if answers[0].Source != backend.FromFallback || answers[0].Err == nil || answers[0].Now == 0 {
			t.Errorf("local answer is %+v", answers[0])
		}
	}
	want := []backend.Verdict{backend.Failed, backend.OK, backend.OverLimit, backend.OK, backend.OK, backend.OverLimit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// TestLocalBesideOthers wants the asks of OnErrorLocal charged only if the others
// do not refuse the request.
func TestLocalBesideOthers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		other   backend.OnError
		mode    backend.Mode // of both asks
		hits    int64        // of 2, of the local ask
		verdict backend.Verdict
		left    int64 // of the local ask
	}{
		{"other allowed", backend.OnErrorAllow, 0, 1, backend.OK, 1},
		{"other denied", backend.OnErrorDeny, 0, 1, backend.OverLimit, 2},
		{"refused itself", backend.OnErrorAllow, 0, 3, backend.OverLimit, 2},
		{"refused, another quota passes", backend.OnErrorAllow, backend.Quota, 3, backend.OK, 2},
		{"refused, the other quota is denied", backend.OnErrorDeny, backend.Quota, 3, backend.OverLimit, 2},
		{"admitted, the other quota is denied", backend.OnErrorDeny, backend.Quota, 1, backend.OK, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stand := local.New(local.Options{})
			closeAfter(t, stand)
			r, err := redis.New(redis.Options{Addrs: []string{"127.0.0.1:1"}, Budget: patience, Local: stand})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, r)
			mine := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 2, Window: time.Hour})
			mine.OnError = backend.OnErrorLocal
			other := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 2, Window: time.Hour})
			other.OnError = test.other
			asks := []backend.Ask{ask("other", other, 1), ask("mine", mine, test.hits)}
			asks[0].Mode, asks[1].Mode = test.mode, test.mode
			s := &store{Redis: r}
			if verdict, answers := s.decide(t, backend.AllOrNothing, asks...); verdict != test.verdict {
				t.Errorf("verdict is %d, want %d: %+v", verdict, test.verdict, answers)
			}
			left := make([]backend.Answer, 1)
			stand.Decide(t.Context(), &backend.Request{Charge: backend.AllOrNothing, Asks: []backend.Ask{ask("mine", mine, 0)}}, left)
			if left[0].Remaining != test.left {
				t.Errorf("%d left, want %d", left[0].Remaining, test.left)
			}
		})
	}
}

// TestLocalBesideQuota has a quota of this process' own exhausted while another
// one passes: the request is not refused, and the other local ask is charged.
func TestLocalBesideQuota(t *testing.T) {
	t.Parallel()
	stand := local.New(local.Options{})
	closeAfter(t, stand)
	r, err := redis.New(redis.Options{Addrs: []string{"127.0.0.1:1"}, Budget: patience, Local: stand})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	mine := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 2, Window: time.Hour})
	mine.OnError = backend.OnErrorLocal
	other := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 2, Window: time.Hour})
	other.OnError = backend.OnErrorAllow
	asks := []backend.Ask{ask("other", other, 1), ask("exhausted", mine, 3), ask("mine", mine, 1)}
	asks[0].Mode, asks[1].Mode = backend.Quota, backend.Quota
	verdict, answers := (&store{Redis: r}).decide(t, backend.AllOrNothing, asks...)
	if verdict != backend.OK || answers[2].Remaining != 1 {
		t.Errorf("verdict is %d: %+v", verdict, answers)
	}
}
