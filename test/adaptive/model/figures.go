package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Never is the figure of what did not happen, in seconds.
const Never = 99

// Figures are the results of a run by name: goodput (what came in time, as a share
// of the lesser of offered load and capacity), late (share of the admitted), p99_ms,
// osc (deviation of the limit over its mean, last 30 s), shrink_s and recover_s
// (after the drop and the return of capacity), limit_at_85, _95 and _150, and
// probe_p99_ms and probe_limit over the scenario's probe.
type Figures map[string]float64

// Mean is the mean of several runs' figures, with the worst run's goodput as
// worst_goodput.
func Mean(runs []Figures) Figures {
	mean := Figures{}
	worst := math.Inf(1)
	for _, f := range runs {
		for name, value := range f {
			mean[name] += value / float64(len(runs))
		}
		worst = min(worst, f["goodput"])
	}
	mean["worst_goodput"] = worst
	return mean
}

// Misses are the bounds that the figures do not keep, in words.
func (f Figures) Misses(accept map[string]float64) []string {
	var misses []string
	for _, key := range slices.Sorted(maps.Keys(accept)) {
		cut := strings.LastIndexByte(key, '_')
		name, side, bound := key[:cut], key[cut+1:], accept[key]
		value, known := f[name]
		switch {
		case !known || side != "min" && side != "max":
			misses = append(misses, "no such figure: "+key)
		case side == "max" && value > bound:
			misses = append(misses, fmt.Sprintf("%s is %.3g, must be at most %.3g", name, value, bound))
		case side == "min" && value < bound:
			misses = append(misses, fmt.Sprintf("%s is %.3g, must be at least %.3g", name, value, bound))
		}
	}
	return misses
}

// tally counts what becomes figures.
type tally struct {
	sc        *Scenario
	limits    []float64 // by second
	inTime    []float64 // answers by the second in which they came
	late      int
	latencies []float64 // of the admitted after the warm-up
	probed    []float64 // of the admitted in the probe
}

func newTally(sc *Scenario) tally {
	return tally{sc: sc, inTime: make([]float64, sc.Duration)}
}

// answer counts a request admitted at now.
func (t *tally) answer(now, latency float64) {
	inTime := latency <= t.sc.DeadlineMS/1e3
	if done := int(now + latency); inTime && done < t.sc.Duration {
		t.inTime[done]++
	}
	if now < float64(t.sc.Warmup) {
		return
	}
	t.latencies = append(t.latencies, latency)
	if !inTime {
		t.late++
	}
	if t.sc.Probe[0] <= now && now < t.sc.Probe[1] {
		t.probed = append(t.probed, latency)
	}
}

func (t *tally) figures() Figures {
	from := t.sc.Warmup
	room := t.room()
	f := Figures{
		"goodput": sum(t.inTime[from:]) / sum(room[from:]),
		"p99_ms":  p99ms(t.latencies),
		"late":    float64(t.late) / float64(max(1, len(t.latencies))),
		"osc":     oscillation(t.limits[max(0, len(t.limits)-30):]),
	}
	for _, at := range []int{85, 95, 150} {
		if at <= len(t.limits) {
			f[fmt.Sprintf("limit_at_%d", at)] = t.limits[at-1]
		}
	}
	if t.sc.Drop > 0 {
		f["shrink_s"] = t.shrink()
	}
	if t.sc.Back > 0 {
		f["recover_s"] = t.recover(room)
	}
	if from, to := int(t.sc.Probe[0]), int(t.sc.Probe[1]); to > from {
		f["probe_p99_ms"], f["probe_limit"] = p99ms(t.probed), mean(t.limits[from:to])
	}
	return f
}

// room is what could have come in time, by second.
func (t *tally) room() []float64 {
	room := make([]float64, t.sc.Duration)
	for i := range room {
		at := float64(i)
		room[i] = min(t.sc.Offered.At(at), t.sc.capacity()*t.sc.Speed.At(at))
	}
	return room
}

// shrink is the time from the drop until the limit is, for three seconds, at most
// a tenth above what is left of the capacity.
func (t *tally) shrink() float64 {
	want := 1.1 * t.sc.capacity() * t.sc.Speed.At(float64(t.sc.Drop))
	for i := t.sc.Drop; i+3 <= len(t.limits); i++ {
		if slices.Max(t.limits[i:i+3]) <= want {
			return float64(i + 1 - t.sc.Drop)
		}
	}
	return Never
}

// recover is the time from the return of capacity until, over three seconds, at
// least nine tenths of what could come in time does.
func (t *tally) recover(room []float64) float64 {
	for i := t.sc.Back; i+3 < t.sc.Duration; i++ {
		if sum(t.inTime[i:i+3]) >= 0.9*sum(room[i:i+3]) {
			return float64(i - t.sc.Back)
		}
	}
	return Never
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func oscillation(values []float64) float64 {
	m, squares := mean(values), 0.0
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares/float64(len(values))) / m
}

func p99ms(seconds []float64) float64 {
	if len(seconds) == 0 {
		return 0
	}
	slices.Sort(seconds)
	return 1e3 * seconds[len(seconds)*99/100]
}
