package algorithms

import "time"

// DecideLog is Decide for a SlidingLog. It leaves l unchanged; l.Apply carries
// out the edit. Entries of an instant that has not come, since the clock stepped
// back, count as entries of now.
func (r *Rule) DecideLog(l *Log, now, hits int64) (LogEdit, Decision) {
	r.mustKeep(InLog)
	now = instant(now)
	edit := LogEdit{now: now, limit: int(r.limit), clamp: l.size - l.until(now)}
	expired := l.until(now - r.window)
	live := int64(l.size - expired)
	n := max(hits, 1)
	var wait time.Duration
	switch {
	case hits < 0:
		edit.expired, edit.refund = expired, int(given(hits, live))
	case n > r.limit:
		wait = Never
	case n > r.limit-live:
		wait = r.leaves(l, expired+int(live+n-r.limit)-1, now)
	case hits > 0:
		edit.expired, edit.hits = expired, int(n)
	}
	d := Decision{Allowed: wait == 0, RetryAfter: wait}
	live += int64(edit.hits - edit.refund)
	d.Remaining = max(0, r.limit-live)
	switch {
	case edit.hits > 0:
		d.ResetAfter = time.Duration(r.window)
	case live > 0:
		d.ResetAfter = r.leaves(l, l.size-edit.refund-1, now)
	}
	if edit.clamp == 0 && (hits == 0 || !d.Allowed) {
		return LogEdit{}, d
	}
	return edit, d
}

// leaves is how long entry i stays in the window.
func (r *Rule) leaves(l *Log, i int, now int64) time.Duration {
	return time.Duration(min(l.at(i), now) + r.window - now)
}
