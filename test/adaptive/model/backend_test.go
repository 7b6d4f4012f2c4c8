package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// TestServers compares the heap with looking through all servers.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2, 7, 20} {
		rng := seeded()
		b := backend{free: make([]float64, servers)}
		want := make([]float64, servers)
		for range 1000 {
			slices.Sort(want)
			end := want[0] + rng.Float64()
			want[0] = end
			b.occupy(end)
			if got := slices.Min(b.free); got != slices.Min(want) {
				t.Fatalf("%d servers: the next is free at %v, want %v", servers, got, slices.Min(want))
			}
		}
		slices.Sort(want)
		got := slices.Sorted(slices.Values(b.free))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d servers (-want +got):\n%s", servers, diff)
		}
	}
}

// TestQueue compares the mean time of an answer with queueing theory: of M/M/1 it
// is service/(1-load), and the probability to wait in M/M/2 is 2*load²/(1+load).
func TestQueue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		servers int
		extra   float64 // ms
		want    float64 // s
	}{
		{"one server, half loaded", 1, 0, 0.2},
		{"two servers, half loaded", 2, 0, 0.1 + 0.1/3},
		{"slower without a queue", 1, 50, 0.25},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sc := &Scenario{Servers: tt.servers, ServiceMS: 200, Speed: Steps{{0, 2}}, ExtraMS: Steps{{0, tt.extra}}}
			rng := seeded()
			b := newBackend(sc, rng)
			now, total := 0.0, 0.0
			const requests = 200_000
			for range requests {
				now += rng.ExpFloat64() / (5 * float64(tt.servers))
				total += b.serve(now)
			}
			if got := total / requests; math.Abs(got-tt.want) > 0.03*tt.want {
				t.Errorf("an answer takes %v on average, want %v", got, tt.want)
			}
		})
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	b := newBackend(&Scenario{Noise: 0.15}, seeded())
	var delays []float64
	for range 100_000 {
		if d := b.noise(); d > 0 {
			delays = append(delays, d)
		}
	}
	slices.Sort(delays)
	if n := len(delays); n < 14_500 || n > 15_500 {
		t.Errorf("%d of 100000 are delayed, want 15000", n)
	}
	median, least, most := delays[len(delays)/2], delays[0], delays[len(delays)-1]
	if math.Abs(median-0.05*math.Pow(2, 1/1.2)) > 0.002 || least < 0.05 || most != 0.8 {
		t.Errorf("delays from %v to %v, half of them below %v", least, most, median)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	s := Steps{{0, 1}, {50, 0.4}, {90, 2}}
	for at, want := range map[float64]float64{0: 1, 49.9: 1, 50: 0.4, 89: 0.4, 90: 2, 1e6: 2} {
		if got := s.At(at); got != want {
			t.Errorf("at %v it is %v, want %v", at, got, want)
		}
	}
}
