package adaptive

import "math"

// healthy is a tick with latency and errors at or below the goal.
func (r *run) healthy() {
	s := &r.s
	s.Hot, s.Peak, s.Level, s.Flat, s.Cut = 0, 0, 0, 0, false
	inUse := r.t.Denied > 0 || r.t.Admitted >= 0.7*s.Limit
	switch {
	case s.Drain > 0: // over sooner than reckoned
		s.Drain, s.Cool = 0, 1+math.Ceil(r.t.Age)
		r.set(max(s.Limit, s.Resume), Drained)
	case s.Cool > 0:
		r.hold(CoolingDown)
	case !inUse:
		r.hold(NotInUse)
	default:
		r.grow()
	}
}

// grow raises the limit in the proportion of the room below the goal, in
// smaller steps the longer their outcome takes to be seen.
func (r *run) grow() {
	s := &r.s
	room := r.headroom()
	fast := room >= r.room && r.calm() && !r.fallsBehind()
	if !fast {
		s.Growth = r.growMin
	}
	limit, why := s.Limit, Growing
	for range r.steps() {
		limit *= 1 + s.Growth*min(1, 2*room)/(1+r.t.Age)
		if fast {
			s.Growth = min(r.c.growthMost(), s.Growth*r.faster())
		}
	}
	for _, near := range r.careful() {
		if s.Limit < near && near <= limit {
			s.Growth, limit, why = r.growMin, near, GrowingWithCare
		}
	}
	switch {
	case s.Limit >= r.c.MaxLimit:
		r.hold(AtMax)
	case room == 0:
		r.hold(AtGoal)
	default:
		r.set(limit, why)
	}
}

// faster is the factor by which growth becomes faster. Where the limit came far down,
// to a minimum or to few answers, it has a long way back.
func (r *run) faster() float64 {
	switch {
	case r.s.Limit >= r.far*r.s.Best:
		return r.growFaster
	case r.c.guided():
		return r.farGuided
	case r.scarcity() > 0:
		return r.farScarce
	default:
		return r.growFaster
	}
}
