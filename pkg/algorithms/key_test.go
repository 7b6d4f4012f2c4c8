package algorithms

import (
	"slices"
	"testing"
)

// A key is one key under one rule, whatever the layout of its state.
type key struct {
	rule         *Rule
	countRefused bool
	state        State
	log          *Log
	counts       *Counts
}

func newKey(tb testing.TB, p Params) *key {
	tb.Helper()
	return &key{rule: mustNew(tb, p), log: new(Log), counts: new(Counts)}
}

func mustNew(tb testing.TB, p Params) *Rule {
	tb.Helper()
	r, err := New(p)
	if err != nil {
		tb.Fatalf("New(%+v): %v", p, err)
	}
	return r
}

// decide decides and keeps what it changes.
func (k *key) decide(now, hits int64) Decision {
	switch k.rule.Layout() {
	case InLog:
		edit, d := k.rule.DecideLog(k.log, now, hits)
		k.log.Apply(edit)
		return d
	case InCounts:
		edit, d := k.rule.DecideCounts(k.counts, now, hits)
		k.counts.Apply(edit)
		return d
	default:
		var d Decision
		if k.countRefused {
			k.state, d = k.rule.DecideCountRefused(k.state, now, hits)
		} else {
			k.state, d = k.rule.Decide(k.state, now, hits)
		}
		return d
	}
}

// would is what decide would answer; it changes nothing.
func (k *key) would(now, hits int64) Decision { return k.clone().decide(now, hits) }

func (k *key) clone() *key {
	c := *k
	c.log, c.counts = k.log.Clone(), k.counts.Clone()
	return &c
}

func (k *key) equal(other *key) bool {
	return k.state == other.state &&
		k.counts.index == other.counts.index && slices.Equal(k.counts.held, other.counts.held) &&
		slices.Equal(k.log.entries(), other.log.entries())
}

func (l *Log) entries() []int64 {
	entries := make([]int64, l.size)
	for i := range entries {
		entries[i] = l.at(i)
	}
	return entries
}
