package adaptive

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cells(s *Sketch) [][2]uint64 {
	var got [][2]uint64
	for bucket, n := range s.All() {
		got = append(got, [2]uint64{uint64(bucket), n})
	}
	return got
}

func TestSketchCounts(t *testing.T) {
	t.Parallel()
	var s Sketch
	for _, a := range [][2]int{{500, 1}, {3, 2}, {500, 4}, {-1, 1}, {LastBucket + 9, 5}, {4, 0}} {
		s.Add(a[0], uint64(a[1]))
	}
	if diff := cmp.Diff([][2]uint64{{0, 1}, {3, 2}, {500, 5}, {LastBucket, 5}}, cells(&s)); diff != "" {
		t.Error(diff)
	}
	if s.Count() != 13 {
		t.Errorf("count %d, want 13", s.Count())
	}
	for range s.All() { // a walk can end early
		break
	}
}

func TestSketchCountsStopAtTheTop(t *testing.T) {
	t.Parallel()
	var s, o Sketch
	s.Add(7, math.MaxUint64)
	s.Add(7, 1)
	o.Add(7, 2)
	o.Add(9, math.MaxUint64-1)
	s.Merge(&o)
	if diff := cmp.Diff([][2]uint64{{7, math.MaxUint64}, {9, math.MaxUint64 - 1}}, cells(&s)); diff != "" {
		t.Error(diff)
	}
	if s.Count() != math.MaxUint64 {
		t.Errorf("count %d", s.Count())
	}
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		if got, ok := s.Quantile(q); !ok || got != Middle(7) {
			t.Errorf("quantile %v is %v, %v, want that of bucket 7", q, got, ok)
		}
	}
}

// A merge is the adds of all, in whatever order.
func TestMergeIsAddition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var all Sketch
		parts := make([]Sketch, 1+random.IntN(6))
		for i := range parts {
			for range random.IntN(50) {
				bucket, n := random.IntN(LastBucket+1), random.Uint64()>>random.IntN(64)
				parts[i].Add(bucket, n)
				all.Add(bucket, n)
			}
		}
		var forth, back Sketch
		for i := range parts {
			forth.Merge(&parts[i])
			back.Merge(&parts[len(parts)-1-i])
		}
		if !forth.Equal(all) || !back.Equal(all) || forth.Count() != all.Count() || back.Count() != all.Count() {
			t.Fatalf("merged %v and %v, added %v", forth, back, all)
		}
	}
}

func TestMergeLeavesTheOther(t *testing.T) {
	t.Parallel()
	var s Sketch
	o := TwoPoint(100, 0.01, 0.1)
	before := cells(&o)
	s.Merge(&o)
	s.Add(Bucket(0.01), 5)
	if diff := cmp.Diff(before, cells(&o)); diff != "" {
		t.Error(diff)
	}
}

// A quantile is within 1.1 % of the sample that has its rank.
func TestQuantileIsExactWithin(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var s Sketch
		samples := make([]float64, 1+random.IntN(500))
		for i := range samples {
			samples[i] = math.Exp2(-17 + 24*random.Float64())
			s.Add(Bucket(samples[i]), 1)
		}
		slices.Sort(samples)
		for _, percent := range []int{0, 1, 25, 50, 90, 99, 100} {
			want := samples[max(0, (len(samples)*percent+99)/100-1)]
			got, ok := s.Quantile(float64(percent) / 100)
			if off := math.Abs(got-want) / want; !ok || off > 0.011 {
				t.Fatalf("p%d of %d samples is %v, want %v", percent, len(samples), got, want)
			}
		}
	}
}

// The rank of a quantile of a full sketch is beyond what a conversion to uint64
// bears.
func TestQuantileOfAFullSketch(t *testing.T) {
	t.Parallel()
	var s Sketch
	s.Add(1, math.MaxUint64-1)
	s.Add(2, 1)
	if got, _ := s.Quantile(1); got != Middle(2) {
		t.Errorf("the highest is %v, want that of bucket 2", got)
	}
}

func TestQuantileOfOddShares(t *testing.T) {
	t.Parallel()
	s := TwoPoint(100, 0.01, 0.1)
	low, high := Middle(Bucket(0.01)), Middle(Bucket(0.1))
	for q, want := range map[float64]float64{-1: low, 0: low, 0.98: low, 0.99: high, 1: high, 7: high} {
		if got, ok := s.Quantile(q); !ok || got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got, _ := s.Quantile(math.NaN()); got != low {
		t.Errorf("quantile NaN is %v", got)
	}
	if got, ok := new(Sketch).Quantile(0.5); ok || got != 0 {
		t.Errorf("an empty sketch has the median %v", got)
	}
}

func TestTwoPoint(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{2, 3, 10, 99, 100, 101, 1000, 1 << 40, math.MaxUint64} {
		s := TwoPoint(n, 0.02, 0.3)
		p50, _ := s.Quantile(0.5)
		p99, _ := s.Quantile(0.99)
		if s.Count() != n || p50 != Middle(Bucket(0.02)) || p99 != Middle(Bucket(0.3)) {
			t.Errorf("%d samples: count %d, p50 %v, p99 %v", n, s.Count(), p50, p99)
		}
	}
	odd := []struct {
		name     string
		n        uint64
		p50, p99 float64
		want     [][2]uint64
	}{
		{"none", 0, 0.02, 0.3, nil},
		{"one", 1, 1, 2, [][2]uint64{{544, 1}}},
		{"equal", 7, 1, 1, [][2]uint64{{544, 7}}},
		{"p99 below p50", 7, 1, 0.5, [][2]uint64{{544, 7}}},
	}
	for _, tt := range odd {
		s := TwoPoint(tt.n, tt.p50, tt.p99)
		if diff := cmp.Diff(tt.want, cells(&s)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestSketchJSON(t *testing.T) {
	t.Parallel()
	var s Sketch
	s.Add(LastBucket, math.MaxUint64)
	s.Add(0, 1<<53+1)
	got, err := json.Marshal(Row{Latency: s})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Started":0,"OK":0,"Errors":0,"Latency":[[0,9007199254740993],[768,18446744073709551615]]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	var row Row
	err = json.Unmarshal(got, &row)
	if err != nil || !row.Latency.Equal(s) || row.Latency.Count() != math.MaxUint64 {
		t.Errorf("%v: read %v", err, row)
	}
	empty, err := json.Marshal(Sketch{})
	if err != nil || string(empty) != "[]" {
		t.Errorf("%v: an empty sketch is %s", err, empty)
	}
}

func TestSketchRefusesHostileJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"index out of range", `[[769,1]]`, "index is 769, must be at most 768"},
		{"index beyond int64", `[[18446744073709551615,1]]`, "must be at most 768"},
		{"negative index", `[[-1,1]]`, "cannot unmarshal number -1"},
		{"negative count", `[[1,-1]]`, "cannot unmarshal number -1"},
		{"no count", `[[1]]`, "a pair has 1 numbers"},
		{"three numbers", `[[1,2,3]]`, "a pair has 3 numbers"},
		{"empty pair", `[[]]`, "a pair has 0 numbers"},
		{"null pair", `[null]`, "a pair has 0 numbers"},
		{"null index", `[[null,1]]`, "a pair has a null"},
		{"null count", `[[1,null]]`, "a pair has a null"},
		{"zero count", `[[1,0]]`, "count of index 1 is 0"},
		{"repeated", `[[1,2],[1,2]]`, "index 1 follows 1"},
		{"falling", `[[2,1],[1,1]]`, "index 1 follows 2"},
		{"fraction", `[[1,1.5]]`, "cannot unmarshal number 1.5"},
		{"count beyond uint64", `[[1,18446744073709551616]]`, "cannot unmarshal number 18446744073709551616"},
		{"text", `"x"`, "cannot unmarshal string"},
		{"object", `{"1":1}`, "cannot unmarshal object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := TwoPoint(3, 1, 2)
			err := json.Unmarshal([]byte(tt.text), &s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if !s.Equal(TwoPoint(3, 1, 2)) {
				t.Errorf("the refused text left %v", s)
			}
		})
	}
}
