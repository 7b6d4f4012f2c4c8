package model

import (
	"math/rand/v2"
	"slices"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// What liars claim: a latency, and how many times the samples that they have.
const (
	liedHigh   = 5.0   // s
	liedLow    = 0.001 // s
	liedWeight = 100
)

// reporters see the requests and say what they saw, a row a second.
type reporters struct {
	sc     *Scenario
	rng    *rand.Rand
	rows   [][]adaptive.Row // by reporter and second
	frozen map[int]*adaptive.Row
}

func newReporters(sc *Scenario, rng *rand.Rand) reporters {
	r := reporters{sc, rng, make([][]adaptive.Row, sc.Reporters), map[int]*adaptive.Row{}}
	last := sc.Duration + int(sc.DeadlineMS/1e3) + 1
	for i := range r.rows {
		r.rows[i] = make([]adaptive.Row, last+1)
	}
	return r
}

// see has one of the reporters wait for an answer, for as long as the deadline is.
func (r *reporters) see(now, latency float64) {
	deadline := r.sc.DeadlineMS / 1e3
	seen := min(latency, deadline)
	rows := r.rows[r.rng.IntN(len(r.rows))]
	rows[int(now)].Started++
	row := &rows[int(now+seen)]
	if latency <= deadline {
		row.OK++
	} else {
		row.Errors++
	}
	row.Latency.Add(adaptive.Bucket(seen), 1)
}

// heard is what the controller is told at tick of the given second.
func (r *reporters) heard(tick, second int) adaptive.Stats {
	rows := make([]adaptive.Row, 0, len(r.rows))
	for who := range r.rows {
		if row := r.said(who, tick, second); row != nil && row.OK+row.Errors > 0 {
			rows = append(rows, *row)
		}
	}
	if r.sc.Merge == Pooled && len(rows) > 1 {
		rows = []adaptive.Row{pool(rows)}
	}
	return adaptive.Merge(rows)
}

// said is what one reporter says at tick of the given second; nil = nothing.
func (r *reporters) said(who, tick, second int) *adaptive.Row {
	var row *adaptive.Row
	if second >= 0 {
		row = &r.rows[who][second]
	}
	for _, f := range r.sc.Faults {
		if tick >= f.At && slices.Contains(f.Who, who) {
			row = r.faulty(f.Kind, who, row)
		}
	}
	return row
}

func (r *reporters) faulty(kind string, who int, row *adaptive.Row) *adaptive.Row {
	if row == nil {
		return nil
	}
	switch kind {
	case "silent":
		return nil
	case "stuck":
		if r.frozen[who] == nil {
			r.frozen[who] = row
		}
		return r.frozen[who]
	default:
		return lie(kind == "high", row)
	}
}

func lie(high bool, row *adaptive.Row) *adaptive.Row {
	n := liedWeight * (row.OK + row.Errors + 1)
	lied := &adaptive.Row{Started: n}
	if high {
		lied.Errors = n
		lied.Latency.Add(adaptive.Bucket(liedHigh), n)
	} else {
		lied.OK = n
		lied.Latency.Add(adaptive.Bucket(liedLow), n)
	}
	return lied
}

// pool puts the rows of all reporters into one, as if there were one reporter.
func pool(rows []adaptive.Row) adaptive.Row {
	var all adaptive.Row
	for i := range rows {
		all.Started += rows[i].Started
		all.OK += rows[i].OK
		all.Errors += rows[i].Errors
		all.Latency.Merge(&rows[i].Latency)
	}
	return all
}
