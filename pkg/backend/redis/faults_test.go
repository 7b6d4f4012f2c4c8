package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/redis"
)

// plant writes a value under the key of an identity.
func (s *store) plant(t *testing.T, identity string, set func(key string) error) {
	t.Helper()
	if err := set(s.prefix + "1{}" + identity); err != nil {
		t.Fatal(err)
	}
}

// TestForeignValues wants an error of the ask whose key holds something else, and
// of no other ask.
func TestForeignValues(t *testing.T) {
	t.Parallel()
	foreign := map[string]any{
		"text": "abc", "empty": "", "negative": "-5", "float": "1.5", "hex": "0x10", "too large": "90071992547409920",
		"zeros": "0 0 0 0 0 0 0 0 0", "fraction": "5 7 3", "spaces": " ", "newline": "5\n6", "bar": "5|6", "list": []any{"x"}, "hash": nil,
	}
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, shared.shared, redis.Options{})
			r := newRule(t, p)
			for what, value := range foreign {
				if what == "fraction" && p.Kind == algorithms.SlidingCounter && p.Buckets == 0 {
					continue // it is a value of this kind
				}
				s.plant(t, what, func(key string) error {
					defer s.client.PExpire(t.Context(), key, time.Hour)
					switch v := value.(type) {
					case nil:
						return s.client.HSet(t.Context(), key, "f", "v").Err()
					case []any:
						return s.client.RPush(t.Context(), key, v...).Err()
					default:
						return s.client.Set(t.Context(), key, v, time.Hour).Err()
					}
				})
				for _, charge := range []backend.Charge{backend.AllOrNothing, backend.Independent} {
					verdict, answers := s.decide(t, charge, ask("a", r, 1), ask(what, r, 1), ask("b", r, -1))
					failed := []bool{answers[0].Err != nil, answers[1].Err != nil, answers[2].Err != nil}
					if diff := cmp.Diff([]bool{false, true, false}, failed); diff != "" || verdict != backend.Failed {
						t.Errorf("%s: verdict %d, failed (-want +got):\n%s", what, verdict, diff)
					}
					if answers[1].Source != backend.FromFallback {
						t.Errorf("%s: source of the failed ask is %d", what, answers[1].Source)
					}
				}
				s.decide(t, backend.AllOrNothing, ask("a", r, -5))
			}
		})
	}
}

// TestForeignEqualKeys has two rules of a request ask about a key that holds something
// else: both fail, and what it holds stays.
func TestForeignEqualKeys(t *testing.T) {
	t.Parallel()
	for name, p := range kinds(5, time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, shared.shared, redis.Options{})
			one := newRule(t, p)
			two := *one
			two.OnError = backend.OnErrorAllow // another rule
			s.plant(t, "k", func(key string) error { return s.client.HSet(t.Context(), key, "f", "v").Err() })
			s.plant(t, "k", func(key string) error { return s.client.PExpire(t.Context(), key, time.Hour).Err() })
			_, answers := s.decide(t, backend.AllOrNothing, ask("k", one, 1), ask("k", &two, 1))
			for i := range answers {
				if redis.KindOf(answers[i].Err) != redis.WrongType {
					t.Errorf("ask %d: %+v", i, answers[i])
				}
			}
			if got := s.client.HGet(t.Context(), s.prefix+"1{}k", "f").Val(); got != "v" {
				t.Errorf("the field holds %q now", got)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	r, err := redis.New(redis.Options{Addrs: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	rule := newRule(t, algorithms.Params{Kind: algorithms.GCRA, Limit: 5, Window: time.Hour})
	_, answers := (&store{Redis: r}).decide(t, backend.AllOrNothing, ask("k", rule, 1))
	if !errors.Is(answers[0].Err, redis.ErrClosed) {
		t.Errorf("error is %v", answers[0].Err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []redis.Options{
		{},
		{Addrs: []string{"h:1"}, KeyPrefix: "a{b}"},
		{Addrs: []string{"h:1", "i:1"}},
		{Addrs: []string{"h:1"}, Mode: redis.Sentinel},
		{Addrs: []string{"h:1"}, Mode: redis.Cluster, Database: 1},
		{Addrs: []string{"h:1"}, Mode: redis.Cluster + 1},
		{Addrs: []string{"h:1"}, Database: -1},
	} {
		if _, err := redis.New(o); err == nil {
			t.Errorf("New(%+v) gives no error", o)
		}
	}
}
