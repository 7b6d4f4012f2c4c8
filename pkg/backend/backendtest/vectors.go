package backendtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// A vector is one rule, one key and the right answers, computed with exact
// rational arithmetic. Times are in ns.
type vector struct {
	Name string `json:"name"`
	Rule struct {
		Algorithm string `json:"algorithm"`
		Variant   string `json:"variant"`
		Mode      string `json:"mode"`
		Align     string `json:"align"`
		Rate      struct {
			Hits int64         `json:"hits"`
			Per  time.Duration `json:"per_ns"`
		} `json:"rate"`
		Limit        int64         `json:"limit"`
		InitialLimit int64         `json:"initial_limit"`
		Window       time.Duration `json:"window_ns"`
		Capacity     int64         `json:"capacity"`
		Burst        int64         `json:"burst"`
		Overdraft    int64         `json:"overdraft"`
		Buckets      int64         `json:"buckets"`
		MinLimit     int64         `json:"min_limit"`
		MaxLimit     int64         `json:"max_limit"`
		BurstNum     int64         `json:"burst_num"`
		BurstDen     int64         `json:"burst_den"`
	} `json:"rule"`
	Requests []struct {
		At       int64 `json:"t_ns"`
		Hits     int64 `json:"hits"`
		SetLimit int64 `json:"set_limit"`
	} `json:"requests"`
	Expected json.RawMessage `json:"expected"`
}

func (v *vector) params() algorithms.Params {
	r := &v.Rule
	return algorithms.Params{
		Kind: map[string]algorithms.Kind{
			"fixed_window": algorithms.FixedWindow, "token_bucket": algorithms.TokenBucket,
			"gcra": algorithms.GCRA, "adaptive": algorithms.Adaptive,
			"leaky_bucket": algorithms.LeakyMeter, "leaky_bucketmeter": algorithms.LeakyMeter, "leaky_bucketqueue": algorithms.LeakyQueue,
			"sliding_window": algorithms.SlidingCounter, "sliding_windowcounter": algorithms.SlidingCounter,
			"sliding_windowlog": algorithms.SlidingLog,
		}[r.Algorithm+r.Variant+r.Mode],
		Limit:     r.Limit + r.InitialLimit + r.Rate.Hits,
		Window:    r.Window + r.Rate.Per,
		Burst:     r.Capacity + r.Burst,
		Overdraft: r.Overdraft,
		Buckets:   r.Buckets,
		FirstHit:  r.Align == "first",
		MinLimit:  r.MinLimit, MaxLimit: r.MaxLimit,
		BurstNum: r.BurstNum, BurstDen: r.BurstDen,
	}
}

// inMicroseconds tells whether all that the vector gives is in whole µs.
func (v *vector) inMicroseconds() bool {
	for _, request := range v.Requests {
		if request.At%int64(time.Microsecond) != 0 {
			return false
		}
	}
	return v.params().Window%time.Microsecond == 0
}

// RunVectors runs the vectors of a folder whose rules can be made and whose
// instants and windows are whole microseconds, and wants traces of them.
func RunVectors(t *testing.T, open Open, folder string, traces int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // found in the folder
		if err != nil {
			t.Fatal(err)
		}
		var v vector
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		limit, err := algorithms.New(v.params())
		if err != nil || !v.inMicroseconds() {
			continue
		}
		traces--
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			v.run(t, open, limit)
		})
	}
	if traces != 0 {
		t.Errorf("%d traces are missing", traces)
	}
}

func (v *vector) run(t *testing.T, open Open, limit *algorithms.Rule) {
	type decision struct {
		Allowed   bool   `json:"allowed"`
		Remaining int64  `json:"remaining"`
		Retry     *int64 `json:"retry_after_ns"` // null: never
		Reset     int64  `json:"reset_after_ns"`
		Delay     int64  `json:"delay_ns"`
	}
	var want []*decision
	if err := json.Unmarshal(v.Expected, &want); err != nil || len(want) != len(v.Requests) {
		t.Fatalf("%d answers for %d requests (error %v)", len(want), len(v.Requests), err)
	}
	s := newSubject(t, open)
	rule := &backend.Rule{Limit: limit, OnError: backend.OnErrorFail}
	for i, request := range v.Requests {
		if request.SetLimit != 0 {
			rule = &backend.Rule{Limit: rule.Limit.WithLimit(request.SetLimit), OnError: backend.OnErrorFail}
			continue
		}
		s.clock.ns.Store(request.At)
		_, answers := s.decide(backend.AllOrNothing, ask("k", rule, request.Hits))
		expected := backend.Answer{Decision: algorithms.Decision{
			Allowed: want[i].Allowed, Remaining: want[i].Remaining, RetryAfter: algorithms.Never,
			ResetAfter: time.Duration(want[i].Reset), Delay: time.Duration(want[i].Delay),
		}}
		if want[i].Retry != nil {
			expected.RetryAfter = time.Duration(*want[i].Retry)
		}
		got := backend.Answer{Decision: answers[0].Decision, Err: answers[0].Err}
		if diff := gocmp.Diff(inMicroseconds([]backend.Answer{expected}), inMicroseconds([]backend.Answer{got})); diff != "" {
			t.Fatalf("request %d, %+v (-want +got):\n%s", i, request, diff)
		}
	}
}
