package service_test

import (
	"strings"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

const adaptiveRules = `
domain: t
descriptors:
  - {key: one, value: x, rate_limit: {algorithm: adaptive, requests_per_unit: 5, unit: hour, adaptive: {min_limit: 1, max_limit: 9, target: first}}}
  - {key: two, value: x, rate_limit: {algorithm: adaptive, requests_per_unit: 5, unit: hour, adaptive: {min_limit: 1, max_limit: 9, target: second}}}
  - {key: again, value: x, rate_limit: {algorithm: adaptive, requests_per_unit: 5, unit: hour, adaptive: {min_limit: 1, max_limit: 9, target: first}}}
  - {key: watch, value: x, shadow_mode: true, rate_limit: {algorithm: adaptive, requests_per_unit: 1, unit: hour, adaptive: {min_limit: 1, max_limit: 9, target: watched}}}
  - {key: plain, rate_limit: {algorithm: gcra, requests_per_unit: 100, unit: hour}}
  - {key: deny, rate_limit: {requests_per_unit: 0, unit: hour}}
`

func TestTargets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		ask  *codec.Request
		want string
	}{
		{"of the rule that admits", request(descriptor("one", "x")), "first"},
		{"of all that admit, each once", request(descriptor("two", "x"), descriptor("plain", "x"), descriptor("one", "x"), descriptor("again", "x")), "second,first"},
		{"of one that only watches", request(hits(3, descriptor("watch", "x"))), "watched"},
		{"none of other rules", request(descriptor("plain", "x")), ""},
		{"none where one refuses", request(hits(7, descriptor("one", "x"))), ""},
		{"none where another rule refuses", request(descriptor("one", "x"), descriptor("deny", "x")), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for _, f := range newBench(t, adaptiveRules).ask(test.ask).DynamicMetadata {
				if f.Key == "rls.targets" {
					got = f.Value
				}
			}
			if got != test.want {
				t.Errorf("targets %q, want %q", got, test.want)
			}
		})
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before *rlspb.RateLimitRequest // not counted here
		ask    *rlspb.RateLimitRequest
		want   rules.Counts // of the rule one, and of watch
	}{
		{"admitted", nil, all(wire("t", "one", "x"), 3), rules.Counts{Admitted: 3, Requests: 1}},
		{"refused", all(wire("t", "one", "x"), 4), all(wire("t", "one", "x"), 3), rules.Counts{Refused: 3}},
		{"more than ever passes", nil, all(wire("t", "one", "x"), 6), rules.Counts{}},
		{"refused by another rule", nil, both("one", "deny"), rules.Counts{}},
		{"admitted though over, since the rule only watches", nil, all(wire("t", "watch", "x"), 6), rules.Counts{Admitted: 6, Requests: 1}},
		{"of another rule", nil, wire("t", "plain", "x"), rules.Counts{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, adaptiveRules)
			var flow rules.Flow
			for _, r := range b.set.Adaptive() {
				if label := r.Label(); label == "t.one_x" || label == "t.watch_x" {
					r.Flow = &flow
				}
			}
			config := service.Config{Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: telemetry.New("test")}
			client := rlspb.NewRateLimitServiceClient(dial(t, config))
			if test.before != nil {
				if _, err := client.ShouldRateLimit(t.Context(), test.before); err != nil {
					t.Fatal(err)
				}
				flow.Take()
			}
			if _, err := client.ShouldRateLimit(t.Context(), test.ask); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, flow.Take()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(rules.Counts{}, flow.Take()); diff != "" {
				t.Errorf("taken twice: %s", diff)
			}
		})
	}
}

// TestFlowOfTarget: a request goes to its target once, however many of the target's
// rules it meets, and however often; what it costs each of them is another matter.
func TestFlowOfTarget(t *testing.T) {
	t.Parallel()
	b := newBench(t, adaptiveRules)
	flows := map[string]*rules.Flow{}
	for _, r := range b.set.Adaptive() {
		r.Flow = new(rules.Flow)
		flows[r.Label()] = r.Flow
	}
	q := wire("t", "plain", "x")
	for _, key := range []string{"one", "two", "again", "one"} {
		q.Descriptors = append(q.Descriptors, wire("t", key, "x").GetDescriptors()...)
	}
	config := service.Config{Rules: func() *rules.Set { return b.set }, Store: b.store, Metrics: telemetry.New("test")}
	if _, err := rlspb.NewRateLimitServiceClient(dial(t, config)).ShouldRateLimit(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	got := map[string]rules.Counts{}
	for label, flow := range flows {
		got[label] = flow.Take()
	}
	want := map[string]rules.Counts{
		"t.one_x": {Admitted: 2, Requests: 1}, "t.two_x": {Admitted: 1, Requests: 1}, "t.again_x": {Admitted: 1}, "t.watch_x": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFlowWithoutStore: what the store did not decide is neither admitted nor refused
// for want of limit.
func TestFlowWithoutStore(t *testing.T) {
	t.Parallel()
	for _, onError := range []string{"error", "deny"} {
		b := newBench(t, "domain: t\ndefaults: {on_error: "+onError+"}\n"+strings.TrimPrefix(adaptiveRules, "\ndomain: t\n"))
		var flow rules.Flow
		for _, r := range b.set.Adaptive() {
			r.Flow = &flow
		}
		store, err := redis.New(redis.Options{Addrs: []string{"127.0.0.1:1"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		config := service.Config{Rules: func() *rules.Set { return b.set }, Store: store, Metrics: telemetry.New("test")}
		answer, err := rlspb.NewRateLimitServiceClient(dial(t, config)).ShouldRateLimit(t.Context(), wire("t", "one", "x"))
		if refused := answer.GetOverallCode() == rlspb.RateLimitResponse_OVER_LIMIT; refused != (onError == "deny") {
			t.Errorf("on_error %s: %v, error %v", onError, answer, err)
		}
		if diff := cmp.Diff(rules.Counts{}, flow.Take()); diff != "" {
			t.Errorf("on_error %s: %s", onError, diff)
		}
	}
}

func all(q *rlspb.RateLimitRequest, hits uint32) *rlspb.RateLimitRequest {
	q.HitsAddend = hits
	return q
}

// both is one request for two keys.
func both(a, b string) *rlspb.RateLimitRequest {
	q := wire("t", a, "x")
	q.Descriptors = append(q.Descriptors, wire("t", b, "x").GetDescriptors()...)
	return q
}
