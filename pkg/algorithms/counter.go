package algorithms

import "time"

// Counts is the state of a SlidingCounter with more than one sub-window. The
// zero Counts is a key that was never seen.
type Counts struct {
	index int64   // number of the newest sub-window since the epoch
	held  []int64 // hits in it and in the ones before, newest first; Buckets+1, or none
}

// CountsEdit is what a decision wants to change in a Counts. The zero
// CountsEdit changes nothing.
type CountsEdit struct {
	buckets int64 // 0: no change
	index   int64 // the sub-window that becomes the newest
	hits    int64 // > 0 join the newest sub-window, < 0 come off the newest hits
}

// Clone is a copy that shares nothing with c.
func (c *Counts) Clone() *Counts {
	return &Counts{index: c.index, held: append([]int64(nil), c.held...)}
}

// Bytes is the memory that c's counts take.
func (c *Counts) Bytes() int64 { return int64(cap(c.held)) * 8 }

// Apply carries out an edit that was decided on c as it is.
func (c *Counts) Apply(e CountsEdit) {
	if e.buckets == 0 {
		return
	}
	if c.held == nil {
		c.held = make([]int64, e.buckets+1)
	}
	c.move(e.index)
	c.add(e.hits)
}

// move makes index the newest sub-window. If that is a step back, the counts
// only change their label: no hit is forgotten because the clock was wrong.
func (c *Counts) move(index int64) {
	shift := min(max(0, index-c.index), int64(len(c.held)))
	copy(c.held[shift:], c.held)
	clear(c.held[:shift])
	c.index = index
}

// add lets hits join the newest count, or come off the newest ones if negative.
func (c *Counts) add(hits int64) {
	for i, held := range c.held {
		give := given(hits, held) // -hits if they join
		c.held[i] -= give
		hits += give
	}
}

// total is the sum of all counts, the oldest as a whole.
func (c *Counts) total() int64 {
	var sum int64
	for _, held := range c.held {
		sum += held
	}
	return sum
}

// DecideCounts is Decide for a SlidingCounter of more than one bucket. It leaves
// c unchanged; c.Apply carries out the edit.
func (r *Rule) DecideCounts(c *Counts, now, hits int64) (CountsEdit, Decision) {
	r.mustKeep(InCounts)
	var scratch [MaxBuckets + 1]int64
	work := Counts{index: c.index, held: scratch[:r.buckets+1]}
	copy(work.held, c.held)
	return r.decideCounts(&work, instant(now), hits)
}

// decideCounter keeps the sub-window's number and its two counts in a State.
func (r *Rule) decideCounter(s State, now, hits int64) (State, Decision) {
	held := [2]int64{s[1], s[2]}
	work := Counts{index: s[0], held: held[:]}
	edit, d := r.decideCounts(&work, now, hits)
	switch {
	case edit.buckets == 0:
		return s, d
	case held == [2]int64{}:
		return State{}, d
	default:
		return State{work.index, held[0], held[1]}, d
	}
}

// decideCounts reads c at now and carries out on it what its edit asks for.
func (r *Rule) decideCounts(c *Counts, now, hits int64) (CountsEdit, Decision) {
	elapsed, healed := r.advance(c, now)
	if hits < 0 {
		c.add(hits)
		return CountsEdit{r.buckets, c.index, hits}, r.estimated(c, elapsed, now, 0)
	}
	n := max(hits, 1)
	taken := r.taken(c, elapsed)
	allowed := n <= r.limit-taken
	charged := hits > 0 && (allowed || r.overdraft > 0)
	switch {
	case !charged:
		hits = 0
	case !allowed:
		hits = min(n, max(0, r.limit+r.overdraft-taken))
	}
	c.add(hits)
	var edit CountsEdit
	if charged || healed {
		edit = CountsEdit{r.buckets, c.index, hits}
	}
	var wait time.Duration
	switch {
	case allowed:
	case n > r.limit:
		wait = Never
	default:
		wait = r.counterWait(c, elapsed, now, n)
	}
	return edit, r.estimated(c, elapsed, now, wait)
}

// advance makes the sub-window of now the newest of c and says how much of it
// has elapsed, in ns. If the clock has stepped back, the newest one of c stays
// in force, none of it elapsed; but no further ahead than the next one.
func (r *Rule) advance(c *Counts, now int64) (elapsed int64, healed bool) {
	index := now / r.subWindow
	if c.index <= index || c.total() == 0 {
		c.move(index)
		return now - index*r.subWindow, false
	}
	healed = c.index > index+1
	c.move(min(c.index, index+1))
	return 0, healed
}

// taken is the estimate of the hits in the window, rounded up: the oldest count
// weighs as much as its sub-window still overlaps with the window.
func (r *Rule) taken(c *Counts, elapsed int64) int64 {
	oldest := c.held[r.buckets]
	weighed, rem := mulDiv(oldest, r.subWindow-elapsed, r.subWindow)
	if rem > 0 {
		weighed++
	}
	return c.total() - oldest + weighed
}

// counterWait is the wait of n hits, n <= limit, that do not fit: until the
// newer counts alone leave room, and then until the oldest has faded enough.
func (r *Rule) counterWait(c *Counts, elapsed, now, n int64) time.Duration {
	start := c.index * r.subWindow
	last := r.buckets
	newer := c.total() - c.held[last]
	for newer > r.limit-n {
		last--
		newer -= c.held[last]
		start += r.subWindow
		elapsed = 0
	}
	if oldest, free := c.held[last], r.limit-n-newer; free < oldest {
		unfaded, _ := mulDiv(free, r.subWindow, oldest)
		elapsed = max(elapsed, r.subWindow-unfaded)
	}
	return time.Duration(start + elapsed - now)
}

// estimated is the decision that leaves c.
func (r *Rule) estimated(c *Counts, elapsed, now int64, wait time.Duration) Decision {
	d := Decision{
		Allowed:    wait == 0,
		Remaining:  max(0, r.limit-r.taken(c, elapsed)),
		RetryAfter: wait,
	}
	for i, held := range c.held {
		if held > 0 {
			gone := (c.index - int64(i) + r.buckets + 1) * r.subWindow
			d.ResetAfter = time.Duration(gone - now)
			break
		}
	}
	return d
}
