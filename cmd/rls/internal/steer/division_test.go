package steer_test

import (
	"fmt"
	"testing"
	"time"
)

// shift is a service that is seen by Envoys, between which the traffic is divided
// another way from some second on.
func shift(t *testing.T, from, to []int, latency time.Duration, answered float64) int64 {
	t.Helper()
	w := newWorld(t, oneRule, nil, "one")
	run := func(parts []int, latency time.Duration, answered float64) {
		n := int(w.limit())
		w.pass(n, 100)
		for envoy, percent := range parts {
			w.report(fmt.Sprint("envoy ", envoy), 0, answers(0, uint64(answered*float64(n*percent/100)), 0, latency), false)
		}
		w.second()
	}
	for range 10 {
		run(from, 20*time.Millisecond, 1)
	}
	for range 40 {
		run(from, 37*time.Millisecond, 1)
	}
	for range 3 {
		run(to, latency, answered)
	}
	return w.limit()
}

// TestDivision: how the traffic is divided between Envoys says nothing of the service.
func TestDivision(t *testing.T) {
	t.Parallel()
	even := []int{34, 33, 33}
	for _, now := range []struct {
		name     string
		latency  time.Duration
		answered float64
	}{
		{"a little slow", 46 * time.Millisecond, 1},
		{"overloaded", 200 * time.Millisecond, 0.6},
	} {
		want := shift(t, even, even, now.latency, now.answered)
		for _, tt := range []struct{ from, to []int }{
			{even, []int{60, 20, 20}},
			{[]int{50, 50}, []int{45, 45, 5, 5}},
			{[]int{60, 20, 20}, even},
			{even, []int{90, 5, 5}},
			{[]int{90, 5, 5}, even},
		} {
			if got := shift(t, tt.from, tt.to, now.latency, now.answered); float64(got) < 0.9*float64(want) || float64(got) > 1.1*float64(want) {
				t.Errorf("%s, %v after %v: limit %d, want about %d as with an even division", now.name, tt.to, tt.from, got, want)
			}
		}
	}
}
