package algorithms

import "time"

// maxCounted is the most that refused hits count: stores whose numbers are
// doubles hold it exactly, too.
const maxCounted = 1<<53 - 1

// decideFixed works on a count and the start of its window, State's first words.
func (r *Rule) decideFixed(s State, now, hits int64) (State, Decision) {
	start, count, s := r.held(s, now)
	if hits < 0 {
		count -= given(hits, count)
		return counted(start, count), r.inWindow(start, count, now, 0)
	}
	n := max(hits, 1)
	allowed := n <= r.limit-count
	switch {
	case hits == 0:
	case allowed:
		count += n
		s = counted(start, count)
	case r.overdraft > 0:
		count += min(n, max(0, r.limit+r.overdraft-count))
		s = counted(start, count)
	}
	return s, r.inWindow(start, count, now, r.windowWait(allowed, n, start, now))
}

// DecideCountRefused is Decide for a FixedWindow that adds before it compares,
// as envoyproxy/ratelimit does: refused hits count, too, and a look is refused
// only when more than the limit was counted. The count saturates.
func (r *Rule) DecideCountRefused(s State, now, hits int64) (State, Decision) {
	if r.params.Kind != FixedWindow {
		panic("algorithms: DecideCountRefused of a rule that is no fixed window")
	}
	if hits < 0 {
		return r.Decide(s, now, hits)
	}
	now = instant(now)
	start, count, s := r.held(s, now)
	if hits > 0 {
		count += min(hits, maxCounted-count)
		s = counted(start, count)
	}
	return s, r.inWindow(start, count, now, r.windowWait(count <= r.limit, hits, start, now))
}

// Used is the number of hits that a FixedWindow's state holds at now. It can
// exceed the limit: by debt, by refused hits that count, or after the limit fell.
func (r *Rule) Used(s State, now int64) int64 {
	_, count, _ := r.held(s, instant(now))
	return count
}

// held reads s at now: the start of the window in force, the hits counted in it,
// and s healed. A window that lies ahead, since the clock stepped back, stays in
// force, but no further ahead than the next one of the epoch's grid or, for
// windows from the first hit, than now.
func (r *Rule) held(s State, now int64) (start, count int64, healed State) {
	start, count = s[0], s[1]
	fresh, latest := now, now
	if !r.params.FirstHit {
		fresh = now - now%r.window
		latest = fresh + r.window
		start -= start % r.window // of a window that was opened by its first hit
	}
	switch {
	case count == 0 || start+r.window <= now:
		return fresh, 0, s
	case start > latest:
		return latest, count, counted(latest, count)
	default:
		return start, count, s
	}
}

func counted(start, count int64) State {
	if count == 0 {
		return State{}
	}
	return State{start, count}
}

// windowWait is the wait of n hits, in ns: nothing but the window's end helps.
func (r *Rule) windowWait(allowed bool, n, start, now int64) time.Duration {
	switch {
	case allowed:
		return 0
	case n > r.limit:
		return Never
	default:
		return time.Duration(start + r.window - now)
	}
}

// inWindow is the decision that leaves count in the window.
func (r *Rule) inWindow(start, count, now int64, wait time.Duration) Decision {
	d := Decision{
		Allowed:    wait == 0,
		Remaining:  max(0, r.limit-count),
		RetryAfter: wait,
	}
	if count > 0 {
		d.ResetAfter = time.Duration(start + r.window - now)
	}
	return d
}
