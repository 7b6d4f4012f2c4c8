package adaptive

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mergeCase is rows and what the model of the specification makes of them.
type mergeCase struct {
	Rows []Row
	Want struct {
		Samples    uint64
		P50, P99   float64
		ErrorRatio float64 `json:"error_ratio"`
		OKRatio    float64 `json:"ok_ratio"`
	}
}

func TestMergeAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/merge.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []mergeCase
	err = json.Unmarshal(data, &cases)
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for i, c := range cases {
		got := Merge(c.Rows)
		if got.Samples != c.Want.Samples || !near(c.Want.P50, got.P50) || !near(c.Want.P99, got.P99) ||
			!near(c.Want.ErrorRatio, got.ErrorRatio) || !near(c.Want.OKRatio, got.OKRatio) {
			t.Errorf("case %d: got %+v, want %+v", i, got, c.Want)
		}
	}
}

func row(n uint64, latency, errors float64) Row {
	bad := uint64(float64(n) * errors)
	return Row{Started: n, OK: n - bad, Errors: bad, Latency: TwoPoint(n, latency, 2*latency)}
}

// The figures stay in the range of the honest rows, whatever a minority claims
// and however unevenly the samples are spread.
func TestLiarsInTheMinorityMoveNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		var rows []Row
		honest := 2 + random.IntN(6)
		lowest, highest := math.Inf(1), 0.0
		for range honest {
			latency := 0.02 + 0.02*random.Float64()
			rows = append(rows, row(1+random.Uint64N(1000)>>random.IntN(10), latency, 0))
			p50, _ := rows[len(rows)-1].Latency.Quantile(0.5)
			lowest, highest = min(lowest, p50), max(highest, p50)
		}
		latency, errors := 5.0, 1.0
		if random.IntN(2) == 0 {
			latency, errors = 0.001, 0
		}
		for range honest - 1 {
			rows = append(rows, row(1+random.Uint64()>>random.IntN(64), latency, errors))
		}
		got := Merge(rows)
		if got.P50 < lowest || got.P50 > highest || got.ErrorRatio != 0 {
			t.Fatalf("%d liars of %d moved it to %+v, out of [%v, %v]\n%+v", honest-1, len(rows), got, lowest, highest, rows)
		}
	}
}

// Rows without a latency, honest ones as lies, leave P50 to the others, where it
// is as safe, and are as safe themselves in all else.
func TestLiarsInTheMinorityMoveNothingWithoutLatency(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(19, 20))
	for range 3000 {
		var rows []Row
		timed, untimed := 2+random.IntN(5), random.IntN(5)
		lowest, highest := math.Inf(1), 0.0
		for range timed {
			rows = append(rows, row(10+random.Uint64N(1000)>>random.IntN(10), 0.02+0.02*random.Float64(), 0.1))
			p50, _ := rows[len(rows)-1].Latency.Quantile(0.5)
			lowest, highest = min(lowest, p50), max(highest, p50)
		}
		for range untimed {
			n := 1 + random.Uint64N(1000)
			rows = append(rows, Row{Started: 2 * n, OK: n, Errors: n})
		}
		least, most := view{errors: 1, ok: 1}, view{}
		for _, r := range rows {
			v := look(&r)
			least.errors, most.errors = min(least.errors, v.errors), max(most.errors, v.errors)
			least.ok, most.ok = min(least.ok, v.ok), max(most.ok, v.ok)
		}
		mute := random.IntN(timed + untimed) // liars: fewer than all, those with a latency fewer than timed
		for range mute {
			n := 1 + random.Uint64()>>random.IntN(64)
			rows = append(rows, Row{Started: n, Errors: n * random.Uint64N(2), OK: n})
		}
		for range random.IntN(min(timed, timed+untimed-mute)) {
			rows = append(rows, row(1+random.Uint64()>>random.IntN(64), []float64{0.001, 5}[random.IntN(2)], 1))
		}
		got := Merge(rows)
		if got.P50 < lowest || got.P50 > highest || got.ErrorRatio < least.errors || got.ErrorRatio > most.errors ||
			got.OKRatio < least.ok || got.OKRatio > most.ok {
			t.Fatalf("moved to %+v, out of [%v, %v] s, %+v, %+v\n%+v", got, lowest, highest, least, most, rows)
		}
	}
}

func TestMergeIgnoresTheOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		rows := make([]Row, 1+random.IntN(9))
		for i := range rows {
			rows[i] = row(random.Uint64N(200), 0.01+random.Float64(), random.Float64())
			if random.IntN(4) == 0 {
				rows[i].Latency = Sketch{}
			}
		}
		want := Merge(rows)
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if diff := cmp.Diff(want, Merge(rows)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestMergeOfFewAndOdd(t *testing.T) {
	t.Parallel()
	fast, slow := row(100, 0.02, 0), row(300, 0.5, 0.5)
	noAnswer := Row{Started: 50, Latency: TwoPoint(50, 1, 1)}
	noLatency := Row{Started: 5000, OK: 1000, Errors: 4000}
	refused, other := Row{Started: 300, Errors: 300}, row(100, 0.03, 0)
	full := Row{Started: math.MaxUint64, OK: math.MaxUint64, Errors: math.MaxUint64, Latency: TwoPoint(math.MaxUint64, 1, 2)}
	p := func(seconds float64) float64 { return Middle(Bucket(seconds)) }
	tests := []struct {
		name string
		rows []Row
		want Stats
	}{
		{"none", nil, Stats{}},
		{"one", []Row{fast}, Stats{Samples: 100, P50: p(0.02), P99: p(0.04), OKRatio: 1}},
		{"two are pooled", []Row{fast, slow}, Stats{Samples: 400, P50: p(0.5), P99: p(0.5), ErrorRatio: 0.375, OKRatio: 0.625}},
		{"nothing answered", []Row{noAnswer, noAnswer, noAnswer}, Stats{}},
		{"no latency known", []Row{noLatency, noLatency, noLatency}, Stats{Samples: 15000, ErrorRatio: 0.8, OKRatio: 0.2}},
		{"no latency known to one", []Row{noLatency}, Stats{Samples: 5000, ErrorRatio: 0.8, OKRatio: 0.2}},
		{"no latency known, pooled", []Row{noLatency, slow, noAnswer}, Stats{Samples: 5300, P50: p(0.5), P99: p(1), ErrorRatio: 4150.0 / 5300, OKRatio: 1150.0 / 5300}},
		{"no latency known to most", []Row{refused, slow, refused}, Stats{Samples: 900, P50: p(0.5), P99: p(1), ErrorRatio: 1}},
		{"no latency known to few", []Row{fast, fast, refused, other, other}, Stats{Samples: 500, P50: p(0.02), P99: p(0.04), OKRatio: 1}},
		{"latencies of two are pooled", []Row{noLatency, fast, noAnswer, slow}, Stats{Samples: 700, P50: p(0.5), P99: p(0.5), ErrorRatio: 0.5, OKRatio: 0.5}},
		{"nothing started", []Row{{OK: 3, Errors: 1, Latency: TwoPoint(4, 1, 1)}}, Stats{Samples: 4, P50: p(1), P99: p(1), ErrorRatio: 0.25, OKRatio: 3}},
		{"full counts pooled", []Row{full, full}, Stats{Samples: mostSamples, P50: p(1), P99: p(1), ErrorRatio: 1, OKRatio: 1}},
		{"full counts", slices.Repeat([]Row{full}, 4), Stats{Samples: mostSamples, P50: p(1), P99: p(2), ErrorRatio: 1, OKRatio: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Merge(tt.rows)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFair(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		weights []float64
		want    float64
	}{
		{"none", nil, math.Inf(1)},
		{"two", []float64{1, 1e9}, math.Inf(1)},
		{"three", []float64{1e9, 30, 20}, 30},
		{"the median", []float64{40, 10, 20, 30}, 25},
		{"nothing", []float64{0, 0, 0}, 0},
	}
	for _, test := range tests {
		before := slices.Clone(test.weights)
		if got := Fair(test.weights); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if diff := cmp.Diff(before, test.weights); diff != "" {
			t.Errorf("%s: the weights were changed: %s", test.name, diff)
		}
	}
	if got := Fair([]float64{100, 100, 100, 1, 1}); 2*got >= 1+1+got || got < 1.5 {
		t.Errorf("%v, by which two of five are not outweighed by the rest, or by far", got)
	}
}
