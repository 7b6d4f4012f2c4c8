package steer

import (
	"math"
	"testing"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestIdle: who has next to nothing of the traffic does not outvote those that have it.
func TestIdle(t *testing.T) {
	t.Parallel()
	said := func(reporter string, answers uint64, latency float64) seen {
		return seen{Reporter: reporter, Start: 1, OK: answers, Latency: adaptive.TwoPoint(answers, latency, latency)}
	}
	sure := func(s seen) seen {
		s.Started, s.StartedKnown = s.OK, true
		return s
	}
	tests := []struct {
		name    string
		seen    []seen
		before  []*seen
		cover   coverage
		samples uint64
		p50     float64
	}{
		{"one busy, two idle", []seen{said("a", 1000, 0.02), said("b", 1, 5), said("c", 1, 5)}, nil, coverage{}, 1000, 0.02},
		{"three busy, four idle", []seen{said("a", 333, 0.02), said("b", 333, 0.02), said("c", 333, 0.02), said("d", 1, 5), said("e", 1, 5), said("f", 1, 5), said("g", 1, 5)}, nil, coverage{}, 999, 0.02},
		{"a tenth of an even part is not idle", []seen{said("a", 934, 0.02), said("b", 34, 5), said("c", 34, 5)}, nil, coverage{}, 102, 5},
		{"nearly nothing is seen of the traffic", []seen{said("a", 3, 0.02), said("b", 3, 0.02), said("c", 3, 0.02)}, nil, coverage{}, 9, 0.02},
		{"as is known", []seen{said("a", 60, 0.02), said("b", 5, 5), said("c", 5, 5)}, nil, coverage{Ticks: learning, Share: 0.07}, 15, 5},
		{"agents, that see a part", []seen{sure(said("a", 900, 0.02)), sure(said("b", 1, 5)), sure(said("c", 1, 5))}, nil, coverage{}, 3, 5},
		{"idle ones of the tick before", []seen{said("a", 1000, 0.02), said("b", 1, 5)}, []*seen{{Reporter: "c", Start: 2, End: 1, OK: 1, Latency: adaptive.TwoPoint(1, 5, 5)}}, coverage{}, 1000, 0.02},
	}
	for _, test := range tests {
		v := look([]row{{Passages: []passage{{Start: 2, Admitted: 2000, Requests: 2000}}, Seen: test.seen}}, test.before, 1, test.cover)
		if off := v.stats.P50/test.p50 - 1; v.stats.Samples != test.samples || math.Abs(off) > 0.02 {
			t.Errorf("%s: %d samples, p50 %v, want %d and %v", test.name, v.stats.Samples, v.stats.P50, test.samples, test.p50)
		}
	}
}

// TestIdleWindow: nor does it say when that was.
func TestIdleWindow(t *testing.T) {
	t.Parallel()
	passages := []passage{{Start: 2, End: 1, Admitted: 1000, Requests: 1000}, {Start: 1, End: 0, Admitted: 100, Requests: 100}}
	said := func(reporter string, age float64, answers uint64) seen {
		return seen{Reporter: reporter, Start: age + 1, End: age, OK: answers, Latency: adaptive.TwoPoint(answers, 0.02, 0.02)}
	}
	v := look([]row{{Passages: passages, Seen: []seen{said("a", 0, 100), said("b", 1, 1), said("c", 1, 1)}}}, nil, 1, coverage{})
	if v.stats.Age != 0 || v.stats.AdmittedThen != 100 {
		t.Errorf("%v admitted %v s ago, want the 100 of just now", v.stats.AdmittedThen, v.stats.Age)
	}
}
