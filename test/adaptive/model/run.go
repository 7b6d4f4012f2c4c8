package model

import (
	"math"
	"math/rand/v2"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// Controller moves a limit.
type Controller interface {
	// Tick looks at one second and gives the limit of the next.
	Tick(s adaptive.Stats) float64
}

// world is one run of a scenario.
type world struct {
	sc        *Scenario
	rng       *rand.Rand
	control   Controller
	limiter   limiter
	backend   backend
	reporters reporters

	admitted, denied float64   // hits since the last tick
	admittedIn       []float64 // hits by second
	tally            tally
}

// Run plays a scenario under a controller that starts afresh.
func Run(sc *Scenario, control Controller, seed uint64) (Figures, error) {
	limiter, err := newLimiter(sc.Controller)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // reproducible on purpose
	w := &world{
		sc: sc, rng: rng, control: control, limiter: limiter,
		backend: newBackend(sc, rng), reporters: newReporters(sc, rng), tally: newTally(sc),
	}
	w.play()
	return w.tally.figures(), nil
}

func (w *world) play() {
	end, tick := float64(w.sc.Duration), 1
	offered := w.sc.Offered.At(0)
	for now := 0.0; ; {
		now += w.rng.ExpFloat64() / offered
		for ; tick <= w.sc.Duration && float64(tick) <= now; tick++ {
			w.tick(tick)
			offered = w.sc.Offered.At(float64(tick))
		}
		if now >= end {
			return
		}
		w.arrive(now)
	}
}

func (w *world) arrive(now float64) {
	if !w.limiter.allow(now) {
		w.denied++
		return
	}
	w.admitted++
	latency := w.backend.serve(now)
	w.reporters.see(now, latency)
	w.tally.answer(now, latency)
}

// tick steps the controller at the end of a second, with the newest second of
// which reports have come.
func (w *world) tick(tick int) {
	second := int(math.Floor(float64(tick)-w.sc.ReportDelay)) - 1
	w.admittedIn = append(w.admittedIn, w.admitted)
	s := w.reporters.heard(tick, second)
	s.Admitted, s.Denied = w.admitted, w.denied
	s.Age, s.Interval = float64(tick-second-1), 1
	if second >= 0 {
		s.AdmittedThen = w.admittedIn[second]
	}
	w.admitted, w.denied = 0, 0
	limit := w.control.Tick(s)
	w.limiter.set(limit)
	w.tally.limits = append(w.tally.limits, limit)
}

// Average is the mean of the runs of seeds from first on.
func Average(sc *Scenario, control func(Bounds) Controller, first, seeds uint64) (Figures, error) {
	runs := make([]Figures, seeds)
	for i := range runs {
		var err error
		if runs[i], err = Run(sc, control(sc.Controller), first+uint64(i)); err != nil {
			return nil, err
		}
	}
	return Mean(runs), nil
}
