package steer

import (
	"slices"
	"time"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
)

// remembered is how long a history goes back: longer than the oldest report that
// counts.
const remembered = 30 * time.Second

// passage is what passed a rule in one tick. Times are seconds before the instant
// at which it was looked up.
type passage struct {
	Start    float64
	End      float64
	Admitted float64 // hits
	Refused  float64 // hits
	Requests float64 // admitted
}

// history is what passed a rule of late.
type history struct {
	ticks []tick
	last  time.Time
}

type tick struct {
	start, end time.Time
	counts     rules.Counts
}

// add ends a tick.
func (h *history) add(now time.Time, c rules.Counts) {
	h.ticks = append(h.ticks, tick{h.last, now, c})
	h.last = now
	h.ticks = slices.DeleteFunc(h.ticks, func(t tick) bool {
		return now.Sub(t.end) > remembered || t.end.After(now) || !t.start.Before(t.end) // the clock was set back
	})
}

// passages are the ticks as seen at now, the newest last.
func (h *history) passages(now time.Time) []passage {
	all := make([]passage, len(h.ticks))
	for i, t := range h.ticks {
		all[i] = passage{
			Start: now.Sub(t.start).Seconds(), End: now.Sub(t.end).Seconds(),
			Admitted: float64(t.counts.Admitted), Refused: float64(t.counts.Refused), Requests: float64(t.counts.Requests),
		}
	}
	return all
}

// rates are per second.
type rates struct{ admitted, refused, requests float64 }

func (r rates) plus(o rates) rates {
	return rates{r.admitted + o.admitted, r.refused + o.refused, r.requests + o.requests}
}

// ratesOf are the mean rates between start and end, both in seconds ago, as far as
// the passages reach.
func ratesOf(all []passage, start, end float64) rates {
	var sum rates
	covered := 0.0
	for _, p := range all {
		overlap := min(start, p.Start) - max(end, p.End)
		if length := p.Start - p.End; overlap > 0 && length > 0 {
			share := overlap / length
			covered += overlap
			sum = sum.plus(rates{p.Admitted * share, p.Refused * share, p.Requests * share})
		}
	}
	if covered == 0 {
		return rates{}
	}
	return rates{sum.admitted / covered, sum.refused / covered, sum.requests / covered}
}
