package steer

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

func cells(s *adaptive.Sketch) int {
	n := 0
	for range s.All() {
		n++
	}
	return n
}

// lognormal is a sketch of n latencies about a median, as targets have them.
func lognormal(random *rand.Rand, n int, median, sigma float64) adaptive.Sketch {
	var s adaptive.Sketch
	for range n {
		s.Add(adaptive.Bucket(median*math.Exp(sigma*random.NormFloat64())), 1)
	}
	return s
}

// TestCoarse: whatever a sketch holds, the coarse one holds as many, has the same
// median and quantile 0.99, and no more buckets than it may.
func TestCoarse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var s adaptive.Sketch
		for range 1 + random.IntN(800) {
			s.Add(random.IntN(adaptive.LastBucket+1), 1+random.Uint64N(1<<random.IntN(40)))
		}
		most := leastOfOne + random.IntN(mostOfSketch-leastOfOne+1)
		got := coarse(&s, most)
		if n := cells(&got); n > most || cells(&s) <= most && !got.Equal(s) {
			t.Fatalf("%d buckets of %d, want at most %d and all where they are no more", n, cells(&s), most)
		}
		if got.Count() != s.Count() {
			t.Fatalf("%d samples of %d", got.Count(), s.Count())
		}
		for _, q := range []float64{0.5, 0.99} {
			a, _ := s.Quantile(q)
			if b, _ := got.Quantile(q); a != b {
				t.Fatalf("quantile %v is %v, want %v", q, b, a)
			}
		}
	}
}

// TestCoarseMerged: the quantiles of two reporters' samples together are off by little.
func TestCoarseMerged(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		a := lognormal(random, 5000, 0.02+0.02*random.Float64(), 0.2+0.8*random.Float64())
		b := lognormal(random, 5000, 0.02+0.02*random.Float64(), 0.2+0.8*random.Float64())
		both, got, other := a, coarse(&a, mostOfSketch), coarse(&b, mostOfSketch)
		if cells(&a) <= mostOfSketch && cells(&b) <= mostOfSketch {
			continue
		}
		var sum adaptive.Sketch
		sum.Merge(&both)
		sum.Merge(&b)
		got.Merge(&other)
		for _, q := range []float64{0.5, 0.99} {
			want, _ := sum.Quantile(q)
			if have, _ := got.Quantile(q); math.Abs(have/want-1) > 0.07 {
				t.Errorf("quantile %v is %v, want %v within 7 %%", q, have, want)
			}
		}
	}
}

// TestLeafIsBounded: reporters with the longest names and all buckets in use, as many
// as there can be, and some more.
func TestLeafIsBounded(t *testing.T) {
	t.Parallel()
	full := seen{Start: 1.0000001, End: 1e-7, Started: math.MaxUint64, StartedKnown: true, OK: math.MaxUint64, Errors: math.MaxUint64}
	for b := range adaptive.LastBucket + 1 {
		full.Latency.Add(b, math.MaxUint64/1000)
	}
	for reporters, most := range map[int]int{1: 4 << 10, 100: 256 << 10, 1000: 600 << 10, 2000: 600 << 10} {
		var r row
		for i := range reporters {
			s := full
			s.Reporter = fmt.Sprintf("%d%s", i, strings.Repeat("x", 250))
			r.Seen = append(r.Seen, s)
		}
		data, err := leafOf([]string{"rule"}, []*row{&r})
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > most {
			t.Errorf("%d bytes of %d reporters, want at most %d", len(data), reporters, most)
		}
		var read leaf
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range read.Seen {
			names[s.Reporter] = true
		}
		if want := min(reporters, mostSeen); len(names) != want {
			t.Errorf("%d reporters are told apart, want %d", len(names), want)
		}
	}
}

// TestLeaf: what is written is read, to the millisecond, and for each rule by itself.
func TestLeaf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 33)
	one := row{
		Passages: []passage{{2.0004, 1, 300, 20, 299}, {1, 0, 5, 0, 5}},
		Target:   []passage{{1, 0, 7, 0, 7}},
		Seen:     []seen{{Reporter: "a", Start: 1.5, End: 0.5, Started: 9, StartedKnown: true, OK: 7, Errors: 1}, {Reporter: long, OK: 1}},
	}
	one.Seen[0].Latency.Add(300, 8)
	one.Seen[1].Latency.Add(301, 1)
	two := row{Passages: []passage{{1, 0, 2, 0, 2}}, Target: one.Target, Seen: one.Seen}
	data, err := leafOf([]string{"one", "two"}, []*row{&one, &two})
	if err != nil {
		t.Fatal(err)
	}
	var read leaf
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	got := read.rowOf("one")
	want := one
	want.Passages = []passage{{2, 1, 300, 20, 299}, {1, 0, 5, 0, 5}}
	want.Seen = []seen{one.Seen[0], one.Seen[1]}
	want.Seen[1].Reporter = shortName(long)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(want.Seen[1].Reporter) != 32 || want.Seen[1].Reporter == long[:32] {
		t.Errorf("a long name is %q, want 32 bytes of a hash", want.Seen[1].Reporter)
	}
	got.later(5) // and grow, as when reporters are pooled
	got.Seen[0].Latency.Add(300, 1)
	other, none := read.rowOf("two"), read.rowOf("three")
	want.Passages = two.Passages
	if diff := cmp.Diff(want, other); diff != "" {
		t.Errorf("another rule (-want +got):\n%s", diff)
	}
	want.Passages = nil
	if diff := cmp.Diff(want, none); diff != "" {
		t.Errorf("a rule that the replica has not (-want +got):\n%s", diff)
	}
}
