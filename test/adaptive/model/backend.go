package model

import (
	"math"
	"math/rand/v2"
)

// backend is the queue before a scenario's servers.
type backend struct {
	sc   *Scenario
	rng  *rand.Rand
	free []float64 // when each server will be free; a heap, the first is the least
}

func newBackend(sc *Scenario, rng *rand.Rand) backend {
	return backend{sc, rng, make([]float64, sc.Servers)}
}

// serve takes a request that comes at now and gives the time until its answer.
func (b *backend) serve(now float64) float64 {
	start := max(b.free[0], now)
	end := start + b.rng.ExpFloat64()*b.sc.ServiceMS/1e3/b.sc.Speed.At(start)
	b.occupy(end)
	return end - now + b.sc.ExtraMS.At(now)/1e3 + b.noise()
}

// occupy takes the server that is free first, until end.
func (b *backend) occupy(end float64) {
	i := 0
	for {
		least := 2*i + 1
		if least >= len(b.free) {
			break
		}
		if right := least + 1; right < len(b.free) && b.free[right] < b.free[least] {
			least = right
		}
		if end <= b.free[least] {
			break
		}
		b.free[i] = b.free[least]
		i = least
	}
	b.free[i] = end
}

// noise is a delay that has nothing to do with the load: of a share of the answers,
// Pareto with an index of 1.2 from 50 ms, cut at 0.8 s.
func (b *backend) noise() float64 {
	if b.sc.Noise == 0 || b.rng.Float64() >= b.sc.Noise {
		return 0
	}
	return min(0.8, 0.05*math.Pow(1-b.rng.Float64(), -1/1.2))
}
