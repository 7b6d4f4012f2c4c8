package steer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// leaf is the row of a replica as it lies in Redis: what it knows of a target, once,
// and of each of its rules. It is coarser than what the replica itself steers by.
type leaf struct {
	Seen   []seen          `json:"seen"`
	Target []passage       `json:"target,omitempty"`
	Rules  map[string]twig `json:"rules"`
}

// twig is what a leaf has of one rule.
type twig struct {
	Passages []passage       `json:"passages"`
	Memory   json.RawMessage `json:"memory,omitempty"`
}

// leafOf writes the rows of a target's rules, each under its name.
func leafOf(names []string, rows []*row) ([]byte, error) {
	l := leaf{Rules: make(map[string]twig, len(rows))}
	for i, r := range rows {
		t := twig{Passages: r.Passages}
		if r.Memory != nil {
			var err error
			if t.Memory, err = json.Marshal(r.Memory); err != nil {
				return nil, fmt.Errorf("writing what a replica knows: %w", err)
			}
		}
		l.Rules[names[i]], l.Target = t, r.Target
	}
	l.Seen = coarseSeen(rows[0].Seen)
	return json.Marshal(&l) //nolint:wrapcheck // of what is finite it always succeeds
}

// coarseSeen is what reporters saw, in a form of bounded length.
func coarseSeen(all []seen) []seen {
	all = slices.Clone(all[:min(len(all), mostSeen)])
	for i := range all {
		s := &all[i]
		s.Reporter, s.Latency = shortName(s.Reporter), coarse(&s.Latency, cellsOf(len(all)))
		s.Start, s.End = millis(s.Start), millis(s.End)
	}
	return all
}

// shortName is a reporter's name, or of a longer one its hash: names only tell
// reporters apart.
func shortName(name string) string {
	const longest = 32
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:longest/2])
}

// millis are seconds to the millisecond.
func millis(seconds float64) float64 { return math.Round(seconds*1e3) / 1e3 } //nolint:mnd // ms

// rowOf is what a leaf says of one rule, which shares nothing with what it says of
// another.
func (l *leaf) rowOf(name string) row {
	r := row{Passages: slices.Clone(l.Rules[name].Passages), Target: slices.Clone(l.Target), Seen: slices.Clone(l.Seen)}
	for i := range r.Seen {
		var own adaptive.Sketch
		own.Merge(&r.Seen[i].Latency)
		r.Seen[i].Latency = own
	}
	return r
}

// MarshalJSON writes an array, since there are many.
func (p passage) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]float64{millis(p.Start), millis(p.End), p.Admitted, p.Refused, p.Requests}) //nolint:wrapcheck // numbers
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *passage) UnmarshalJSON(data []byte) error {
	var read [5]float64
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("reading a passage: %w", err)
	}
	*p = passage{read[0], read[1], read[2], read[3], read[4]}
	return nil
}
