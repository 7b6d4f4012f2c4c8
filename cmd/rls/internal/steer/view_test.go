package steer

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

func TestRatesOf(t *testing.T) {
	t.Parallel()
	all := []passage{
		{Start: 4, End: 3, Admitted: 10, Refused: 1, Requests: 5},
		{Start: 3, End: 2, Admitted: 20, Refused: 2, Requests: 10},
		{Start: 2, End: 0, Admitted: 60, Refused: 6, Requests: 30},
	}
	tests := []struct {
		name       string
		start, end float64
		want       rates
	}{
		{"one tick", 3, 2, rates{20, 2, 10}},
		{"a longer tick", 2, 0, rates{30, 3, 15}},
		{"parts of two", 3.5, 2.5, rates{15, 1.5, 7.5}},
		{"all", 4, 0, rates{22.5, 2.25, 11.25}},
		{"as far as it reaches back", 6, 3, rates{10, 1, 5}},
		{"before all", 9, 8, rates{}},
		{"after all", 0, -1, rates{}},
		{"no time", 2, 2, rates{}},
		{"no number", math.NaN(), 2, rates{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, ratesOf(all, test.start, test.end), cmp.AllowUnexported(rates{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	h := history{last: now}
	for range 1000 {
		now = now.Add(time.Second)
		h.add(now, rules.Counts{Admitted: 1})
	}
	got := h.passages(now)
	h.add(now.Add(-time.Hour), rules.Counts{Admitted: 1})
	if n := len(h.passages(now)); n != 0 {
		t.Errorf("%d passages after the clock was set back, want none", n)
	}
	if len(got) != 31 || got[0].End != 30 || got[30].Start != 1 {
		t.Errorf("%d passages from %v to %v, want those of the last 30 s", len(got), got[0], got[len(got)-1])
	}
}

func TestPooled(t *testing.T) {
	t.Parallel()
	of := func(reporter string, start, end float64, started, ok uint64, known bool) seen {
		return seen{Reporter: reporter, Start: start, End: end, Started: started, StartedKnown: known, OK: ok, Latency: adaptive.TwoPoint(ok, 0.02, 0.02)}
	}
	rows := []row{
		{Seen: []seen{of("b", 2, 1, 10, 5, true), of("a", 3, 2, 10, 5, true), {Reporter: "c", StartedKnown: true, Started: 1}}},
		{Seen: []seen{of("a", 2, 1, 7, 4, true), of("b", 2, 1, 0, math.MaxUint64, false)}},
	}
	type line struct {
		Reporter            string
		Start, End          float64
		Started, OK, Counts uint64
		Known               bool
	}
	var got []line
	for _, s := range pooled(rows) {
		got = append(got, line{s.Reporter, s.Start, s.End, s.Started, s.OK, s.Latency.Count(), s.StartedKnown})
	}
	want := []line{
		{"a", 3, 1, 17, 9, 9, true},
		{"b", 2, 1, 10, math.MaxUint64, math.MaxUint64, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilled(t *testing.T) {
	t.Parallel()
	all := []*seen{{OK: 30}, {OK: 10}, {OK: 5, Started: 6, StartedKnown: true}}
	tests := []struct {
		name  string
		begun map[uint64]float64 // by OK
		want  []uint64
	}{
		{"more than completed", map[uint64]float64{30: 60, 10: 19.6}, []uint64{60, 20, 6}},
		{"fewer than completed, while a queue empties", map[uint64]float64{30: 15, 10: 5}, []uint64{15, 5, 6}},
		{"not known", nil, []uint64{30, 10, 6}},
		{"at least one", map[uint64]float64{30: 0.1, 10: 0.1}, []uint64{1, 1, 6}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []uint64
			for _, r := range filled(all, func(s *seen) float64 { return test.begun[s.OK] }) {
				got = append(got, r.Started)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWindows: each reporter is held against what passed in its own window.
func TestWindows(t *testing.T) {
	t.Parallel()
	var passages []passage
	for i := range 10 {
		passages = append(passages, passage{Start: float64(10 - i), End: float64(9 - i), Admitted: 200, Requests: 200})
	}
	said := func(reporter string, length float64, answers uint64) seen {
		return seen{Reporter: reporter, Start: length, OK: answers, Latency: adaptive.TwoPoint(answers, 0.02, 0.02)}
	}
	both := look([]row{{Passages: passages, Seen: []seen{said("a", 1, 100), said("b", 5, 500)}}}, nil, 1, coverage{})
	if got := both.stats.OKRatio; math.Abs(got-1) > 1e-9 || both.completed != 200 {
		t.Errorf("ratio %v of %v a second, want all of 200", got, both.completed)
	}
	halves := look([]row{{Passages: passages, Target: []passage{{Start: 1, Requests: 400}}, Seen: []seen{said("a", 1, 400)}}}, nil, 1, coverage{})
	if halves.stats.OKRatio != 1 || halves.requests != 400 || halves.stats.AdmittedThen != 200 {
		t.Errorf("%+v, want all of 400 to the target, of which 200 by this rule", halves)
	}
}

func TestMedianOf(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{3: {3}, 2: {5, 2}, 4: {9, 1, 4}, 5: {6, 1, 9, 5}} {
		var all []*seen
		for _, v := range values {
			all = append(all, &seen{End: v})
		}
		if got := medianOf(all, func(s *seen) float64 { return s.End }); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}

// TestLook adds up what passed on all replicas in the seconds that the reports tell of.
func TestLook(t *testing.T) {
	t.Parallel()
	passed := func(then, now float64) []passage {
		return []passage{{Start: 2, End: 1, Admitted: then, Requests: then / 2}, {Start: 1, End: 0, Admitted: now, Refused: 7}}
	}
	said := func(reporter string) seen {
		return seen{Reporter: reporter, Start: 2, End: 1, OK: 50, Latency: adaptive.TwoPoint(50, 0.02, 0.02)}
	}
	rows := []row{{Passages: passed(100, 10), Seen: []seen{said("a")}}, {Passages: passed(300, 20), Seen: []seen{said("b"), said("c"), said("d")}}}
	v := look(rows, nil, 1, coverage{})
	v.stats.P50, v.stats.P99, v.heard = 0, 0, nil
	want := view{
		stats:     adaptive.Stats{Samples: 200, OKRatio: 1, Admitted: 30, Denied: 14, AdmittedThen: 400, Age: 1, Interval: 1},
		reporters: 4, completed: 200, requests: 200,
	}
	if diff := cmp.Diff(want, v, cmp.AllowUnexported(view{})); diff != "" {
		t.Error(diff)
	}
}

// TestQuorate: who was heard a tick ago makes the majority that this tick lacks, and is
// not counted once more.
func TestQuorate(t *testing.T) {
	t.Parallel()
	said := func(reporter string, age float64, ok, errors uint64) *seen {
		return &seen{Reporter: reporter, Start: age + 1, End: age, OK: ok, Errors: errors, Latency: adaptive.TwoPoint(ok+errors, 0.02, 0.02)}
	}
	passages := []passage{{Start: 3, End: 2, Admitted: 30, Requests: 30}, {Start: 2, End: 1, Admitted: 60, Requests: 60}, {Start: 1, End: 0, Admitted: 90, Requests: 90}}
	before := []*seen{said("a", 1, 20, 0), said("b", 1, 20, 0), said("c", 1, 20, 0)}
	tests := []struct {
		name      string
		heard     []*seen
		before    []*seen
		reporters int
		samples   uint64
		errors    float64
		age       float64
	}{
		{"one of three, which lies", []*seen{said("c", 0, 0, 1e9)}, before, 3, 20, 0, 1},
		{"one of two, which lies", []*seen{said("b", 0, 0, 30)}, before[:2], 1, 30, 1, 0},
		{"all", []*seen{said("a", 0, 30, 0), said("b", 0, 30, 0), said("c", 0, 0, 30)}, before, 3, 90, 0, 0},
		{"all but one of four", []*seen{said("a", 0, 30, 0), said("b", 0, 30, 0), said("d", 0, 30, 0)}, before, 4, 90, 0, 0},
		{"none", nil, before, 0, 0, 0, 0},
	}
	for _, test := range tests {
		r := row{Passages: passages}
		for _, s := range test.heard {
			r.Seen = append(r.Seen, *s)
		}
		v := look([]row{r}, test.before, 1, coverage{})
		if v.reporters != test.reporters || v.stats.Samples != test.samples || v.stats.ErrorRatio != test.errors || v.stats.Age != test.age {
			t.Errorf("%s: %d reporters, %+v", test.name, v.reporters, v.stats)
		}
		if len(v.heard) != len(test.heard) {
			t.Errorf("%s: %d are new, want %d", test.name, len(v.heard), len(test.heard))
		}
	}
	if got := older(before[:1], 0.5)[0]; got.Start != 2.5 || got.End != 1.5 || before[0].End != 1 {
		t.Errorf("half a second later %+v, of %+v", got, before[0])
	}
}

func TestRowLater(t *testing.T) {
	t.Parallel()
	r := row{Passages: []passage{{Start: 2, End: 1}}, Seen: []seen{{Start: 3, End: 2}}}
	r.later(0.5)
	want := row{Passages: []passage{{Start: 2.5, End: 1.5}}, Seen: []seen{{Start: 3.5, End: 2.5}}}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(row{}), cmpopts.IgnoreTypes(adaptive.Sketch{})); diff != "" {
		t.Error(diff)
	}
}
