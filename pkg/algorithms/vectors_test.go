package algorithms

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A vector is one rule, one key and the right answers, computed with exact
// rational arithmetic.
type vector struct {
	Name       string `json:"name"`
	Rule       vectorRule
	Resolution int64 `json:"resolution_ns"` // durations are rounded up to it
	Requests   []struct {
		At       int64 `json:"t_ns"`
		Hits     int64 `json:"hits"`
		SetLimit int64 `json:"set_limit"`
	} `json:"requests"`
	Expected json.RawMessage `json:"expected"`
}

type vectorRule struct {
	Algorithm string `json:"algorithm"`
	Variant   string `json:"variant"`
	Mode      string `json:"mode"`
	Align     string `json:"align"`
	Rate      struct {
		Hits int64 `json:"hits"`
		Per  int64 `json:"per_ns"`
	} `json:"rate"`
	Limit        int64 `json:"limit"`
	InitialLimit int64 `json:"initial_limit"`
	Window       int64 `json:"window_ns"`
	Capacity     int64 `json:"capacity"`
	Burst        int64 `json:"burst"`
	Overdraft    int64 `json:"overdraft"`
	Buckets      int64 `json:"buckets"`
	MinLimit     int64 `json:"min_limit"`
	MaxLimit     int64 `json:"max_limit"`
	BurstNum     int64 `json:"burst_num"`
	BurstDen     int64 `json:"burst_den"`
}

func (v *vectorRule) params() Params {
	return Params{
		Kind: map[string]Kind{
			"fixed_window": FixedWindow, "token_bucket": TokenBucket, "gcra": GCRA, "adaptive": Adaptive,
			"leaky_bucket": LeakyMeter, "leaky_bucket meter": LeakyMeter, "leaky_bucket queue": LeakyQueue,
			"sliding_window": SlidingCounter, "sliding_window counter": SlidingCounter, "sliding_window log": SlidingLog,
		}[joined(v.Algorithm, v.Variant+v.Mode)],
		Limit:     v.Limit + v.InitialLimit + v.Rate.Hits,
		Window:    time.Duration(v.Window + v.Rate.Per),
		Burst:     v.Capacity + v.Burst,
		Overdraft: v.Overdraft,
		Buckets:   v.Buckets,
		FirstHit:  v.Align == "first",
		MinLimit:  v.MinLimit, MaxLimit: v.MaxLimit,
		BurstNum: v.BurstNum, BurstDen: v.BurstDen,
	}
}

func joined(algorithm, variant string) string {
	if variant == "" {
		return algorithm
	}
	return algorithm + " " + variant
}

type vectorDecision struct {
	Allowed   bool   `json:"allowed"`
	Remaining int64  `json:"remaining"`
	Retry     *int64 `json:"retry_after_ns"` // null: never
	Reset     int64  `json:"reset_after_ns"`
	Delay     int64  `json:"delay_ns"`
}

func (v *vector) rounded(d Decision) *vectorDecision {
	up := func(t time.Duration) int64 { return (int64(t) + v.Resolution - 1) / v.Resolution * v.Resolution }
	got := &vectorDecision{Allowed: d.Allowed, Remaining: d.Remaining, Reset: up(d.ResetAfter), Delay: up(d.Delay)}
	if d.RetryAfter != Never {
		retry := up(d.RetryAfter)
		got.Retry = &retry
	}
	return got
}

func TestVectors(t *testing.T) {
	t.Parallel()
	const traces = 52
	refusals := map[string]string{
		"reject_zero":            "limit",
		"reject_burst_on_window": "burst",
		"reject_fill_time":       "burst",
		"reject_log_overdraft":   "overdraft",
	}
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(files) != traces {
		t.Fatalf("found %d vectors, want %d (error %v)", len(files), traces, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v vector
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			if field := refusals[v.Name]; field != "" {
				checkRefused(t, v.Rule.params(), field)
				return
			}
			checkTrace(t, &v)
		})
	}
}

func checkTrace(t *testing.T, v *vector) {
	t.Helper()
	var want []*vectorDecision
	if err := json.Unmarshal(v.Expected, &want); err != nil || len(want) != len(v.Requests) {
		t.Fatalf("%d answers for %d requests (error %v)", len(want), len(v.Requests), err)
	}
	k := newKey(t, v.Rule.params())
	for i, request := range v.Requests {
		if request.SetLimit != 0 {
			k.rule = k.rule.WithLimit(request.SetLimit)
			continue
		}
		got := v.rounded(k.decide(request.At, request.Hits))
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("request %d, %+v (-want +got):\n%s", i, request, diff)
		}
	}
}
