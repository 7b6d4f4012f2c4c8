package adaptive

// gather sums ticks until they hold enough samples to judge by: latency and
// errors weigh by samples, the ratio by load. Here and in all that a cut rests
// on, float64(a * b) keeps processors from fusing a product with a sum: the
// length of a drain is rounded up, and must not depend on the processor.
type gather struct {
	Ticks    int     `json:"ticks"`
	Samples  float64 `json:"samples"`
	P50      float64 `json:"p50"` // sum over samples, as Errors and Ratio
	P99      float64 `json:"p99"` // the highest
	Errors   float64 `json:"errors"`
	Ratio    float64 `json:"ratio"`
	Load     float64 `json:"load"`     // sum of AdmittedThen over ticks
	Answered float64 `json:"answered"` // sum of AdmittedThen times the ratio
	Admitted float64 `json:"admitted"` // sum over ticks, as Denied
	Denied   float64 `json:"denied"`
	Quiet    float64 `json:"quiet"` // s since an answer
}

func (g *gather) add(t *Stats) {
	n := float64(t.Samples)
	g.Ticks++
	g.Samples += n
	g.P50 += float64(t.P50 * n)
	g.P99 = max(g.P99, t.P99)
	g.Errors += float64(t.ErrorRatio * n)
	g.Ratio += float64(t.OKRatio * n)
	g.Load += t.AdmittedThen
	g.Answered += float64(t.OKRatio * t.AdmittedThen)
	g.Admitted += t.Admitted
	g.Denied += t.Denied
	g.Quiet = 0
}

// pause is a tick that brings nothing to gather. What was gathered before too
// many of them is too old.
func (g *gather) pause(seconds, most float64) {
	if g.Ticks == 0 {
		return
	}
	if g.Quiet += seconds; g.Quiet > most {
		*g = gather{}
	}
}

// stats is the ticks gathered as one, as old as the last of them.
func (g *gather) stats(last *Stats) Stats {
	if g.Ticks == 1 { // exactly as it came, without the rounding of a mean
		return *last
	}
	ticks := float64(g.Ticks)
	t := *last
	t.Samples = uint64(g.Samples)
	t.P50, t.P99 = g.P50/g.Samples, g.P99
	t.ErrorRatio, t.OKRatio = g.Errors/g.Samples, g.Ratio/g.Samples
	if g.Load > 0 {
		t.OKRatio = g.Answered / g.Load
	}
	t.Admitted, t.Denied, t.AdmittedThen = g.Admitted/ticks, g.Denied/ticks, g.Load/ticks
	return t
}
