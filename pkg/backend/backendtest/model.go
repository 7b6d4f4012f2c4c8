package backendtest

import (
	"bytes"
	"context"
	"math/big"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// Model is a backend for one goroutine that does nothing for speed: states in a
// map by key, forever, and every request decided on copies of them.
type Model struct {
	now    func() int64
	states map[string]state
}

// state is never changed once it is in a map.
type state struct {
	inline algorithms.State
	log    *algorithms.Log
	counts *algorithms.Counts
}

// NewModel is an empty model with the clock now.
func NewModel(now func() int64) *Model { return &Model{now, map[string]state{}} }

// Ready implements backend.Backend.
func (m *Model) Ready(context.Context) error { return nil }

// Close implements backend.Backend.
func (m *Model) Close() error { return nil }

// Decide implements backend.Backend.
func (m *Model) Decide(_ context.Context, req *backend.Request, answers []backend.Answer) backend.Verdict {
	if req.Charge == backend.Independent || req.Charge == backend.CountRefused {
		for i := range req.Asks {
			ask := &req.Asks[i]
			answers[i] = decide(m.states, m.now(), ask, ask.Hits, req.Charge == backend.CountRefused && ask.Rule.CountRefused)
		}
		return naiveVerdict(req, answers)
	}
	after := m.together(req, answers, func(_ *backend.Ask, hits int64) int64 { return hits })
	verdict := naiveVerdict(req, answers)
	if verdict == backend.OverLimit {
		left := make([]backend.Answer, len(answers))
		after = m.together(req, left, func(ask *backend.Ask, hits int64) int64 {
			if hits > 0 && ask.Rule.Limit.Overdraft() == 0 {
				return 0
			}
			return hits
		})
		for i := range answers {
			answers[i].Delay = 0
			answers[i].Remaining, answers[i].ResetAfter, answers[i].Used = left[i].Remaining, left[i].ResetAfter, left[i].Used
		}
	}
	if req.Charge != backend.Look {
		for i := range req.Asks {
			key := string(req.Asks[i].Key)
			put(m.states, key, after[key])
		}
	}
	return verdict
}

// together decides the sums of equal asks, each cut to what is charged of it, and
// returns what this would leave of the states of their keys.
func (m *Model) together(
	req *backend.Request, answers []backend.Answer, charged func(*backend.Ask, int64) int64,
) map[string]state {
	states := map[string]state{}
	for i := range req.Asks {
		key := string(req.Asks[i].Key)
		put(states, key, m.states[key])
	}
	for i := range req.Asks {
		first := i
		sum := new(big.Int)
		for j := range req.Asks {
			if !same(&req.Asks[i], &req.Asks[j]) {
				continue
			}
			first = min(first, j)
			sum = saturate(sum.Add(sum, big.NewInt(req.Asks[j].Hits)))
		}
		if first < i {
			answers[i] = answers[first]
			continue
		}
		answers[i] = decide(states, m.now(), &req.Asks[i], charged(&req.Asks[i], sum.Int64()), false)
	}
	return states
}

func same(a, b *backend.Ask) bool { return bytes.Equal(a.Key, b.Key) && a.Rule.Same(b.Rule) }

func saturate(n *big.Int) *big.Int {
	switch {
	case n.IsInt64():
		return n
	case n.Sign() > 0:
		return big.NewInt(1<<63 - 1)
	default:
		return big.NewInt(-1 << 63)
	}
}

func put(states map[string]state, key string, s state) {
	if s == (state{}) {
		delete(states, key)
		return
	}
	states[key] = s
}

// decide decides and charges one ask on states.
func decide(states map[string]state, now int64, ask *backend.Ask, hits int64, countRefused bool) backend.Answer {
	rule, key := ask.Rule.Limit, string(ask.Key)
	old := states[key]
	next := old
	var d algorithms.Decision
	var changed bool
	switch {
	case rule.Layout() == algorithms.InLog:
		next.log = new(algorithms.Log)
		if old.log != nil {
			next.log = old.log.Clone()
		}
		var edit algorithms.LogEdit
		edit, d = rule.DecideLog(next.log, now, hits)
		next.log.Apply(edit)
		changed = edit != algorithms.LogEdit{}
	case rule.Layout() == algorithms.InCounts:
		next.counts = new(algorithms.Counts)
		if old.counts != nil {
			next.counts = old.counts.Clone()
		}
		var edit algorithms.CountsEdit
		edit, d = rule.DecideCounts(next.counts, now, hits)
		next.counts.Apply(edit)
		changed = edit != algorithms.CountsEdit{}
	case countRefused && rule.Kind() == algorithms.FixedWindow:
		next.inline, d = rule.DecideCountRefused(old.inline, now, hits)
		changed = next.inline != old.inline
	default:
		next.inline, d = rule.Decide(old.inline, now, hits)
		changed = next.inline != old.inline
	}
	if changed {
		states[key] = next
		if d.ResetAfter == 0 {
			delete(states, key)
		}
	}
	used := rule.Capacity() - d.Remaining
	if rule.Kind() == algorithms.FixedWindow {
		used = rule.Used(next.inline, now)
	}
	return backend.Answer{Decision: d, Now: now, Used: used, Source: backend.FromStore}
}
