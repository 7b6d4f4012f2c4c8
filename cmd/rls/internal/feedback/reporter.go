package feedback

import (
	"slices"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// reporter is what is kept of one reporter of one target. The target's lock
// guards it.
type reporter struct {
	heard    time.Time // when it last spoke, whether that counted or not
	sequence uint64    // of its last report that has a number
	reported time.Time // end of the latest window reported, on its clock
	counts   bool      // it has said how many requests began, since it began anew last
	pool     pool
	open     []interval // of its access log, ascending, none empty
	closed   int64      // the last interval that was put into pool, in s since the epoch
}

// repeats says whether a report says again what has been reported. A number that
// is lower than the last is a repeat, too, unless the reporter began anew: then
// its window follows those before. Windows without numbers must not overlap; a
// half of one is forgiven, since clocks and timers are not exact.
func (p *reporter) repeats(r *report, now time.Time) bool {
	overlap := p.reported.Sub(r.start)
	if p.reported.Sub(now) > maxAhead { // a clock was set back
		overlap = 0
	}
	switch {
	case p.reported.IsZero():
		return false
	case r.sequence == 0:
		return overlap > r.end.Sub(r.start)/2
	default:
		return r.sequence == p.sequence || r.sequence < p.sequence && overlap > 0
	}
}

func (p *reporter) add(r *report, now time.Time) {
	if r.sequence != 0 {
		p.counts = p.counts && r.sequence > p.sequence
		p.sequence = r.sequence
	}
	p.counts = p.counts || r.row.Started > 0 // then 0 is a number, too
	if r.end.After(p.reported) || p.reported.Sub(now) > maxAhead {
		p.reported = r.end
	}
	ahead := max(0, r.end.Sub(now)) // of its clock
	p.pool.add(r.start.Add(-ahead), r.end.Add(-ahead), &r.row, r.startedKnown || p.counts)
}

// maxOpen is how many intervals before the present one may be open: entries wait
// in Envoy for greatestLag at most.
const maxOpen = int64(greatestLag/time.Second) + 1

// interval is a second of an access log.
type interval struct {
	second int64 // since the epoch, on our clock
	closes time.Time
	row    adaptive.Row
}

// log adds what an access log says of a second, which is complete when delay has
// passed since its end. What comes too late goes to the next second that is open.
func (p *reporter) log(now time.Time, second int64, delay time.Duration, row *adaptive.Row) {
	p.settle(now)
	second = max(second, p.closed+1)
	closes := time.Unix(second+1, 0).Add(delay)
	at, found := slices.BinarySearchFunc(p.open, second, func(i interval, s int64) int { return int(i.second - s) })
	if !found {
		p.open = slices.Insert(p.open, at, interval{second: second, closes: closes})
	}
	i := &p.open[at]
	if closes.After(i.closes) {
		i.closes = closes
	}
	merge(&i.row, row)
}

// settle moves complete intervals to the pool, in order. Those of the future are
// complete, too: our clock was set back.
func (p *reporter) settle(now time.Time) {
	n, last := 0, now.Unix()-1
	for ; n < len(p.open) && (!now.Before(p.open[n].closes) || p.open[n].second > last+1); n++ {
		i := &p.open[n]
		start := time.Unix(min(i.second, last), 0)
		p.pool.add(start, start.Add(time.Second), &i.row, false)
		p.closed = i.second
	}
	p.open = slices.Delete(p.open, 0, n)
	p.closed = min(p.closed, last)
}

func (p *reporter) take(now time.Time) (Observation, bool) {
	p.settle(now)
	o, ok := p.pool.Observation, p.pool.any
	p.pool = pool{}
	if !o.StartedKnown {
		o.Row.Started = 0
	}
	return o, ok
}

// pool adds up what one reporter said between two Takes.
type pool struct {
	Observation

	any bool
}

func (p *pool) add(start, end time.Time, row *adaptive.Row, startedKnown bool) {
	if !p.any {
		p.Observation = Observation{Start: start, End: end, StartedKnown: true}
		p.any = true
	}
	if start.Before(p.Start) {
		p.Start = start
	}
	if end.After(p.End) {
		p.End = end
	}
	p.StartedKnown = p.StartedKnown && startedKnown
	merge(&p.Row, row)
}

func merge(to, from *adaptive.Row) {
	to.Started += from.Started
	to.OK += from.OK
	to.Errors += from.Errors
	to.Latency.Merge(&from.Latency)
}
