package algorithms

// DecideLog is Decide for a SlidingLog. It leaves l unchanged; l.Apply carries
// out the edit. Entries of an instant that has not come, since the clock stepped
// back, count as entries of now.
func (r *Rule) DecideLog(l *Log, now, hits int64) (LogEdit, Decision) {
	r.mustKeep(InLog)
	now = instant(now)
	edit := LogEdit{now: now, limit: int(r.limit), clamp: l.size - l.until(now)}
	expired := l.until(now - r.window)
	usage := LogUsage{Live: int64(l.size - expired)}
	n := max(hits, 1)
	switch {
	case hits < 0:
		edit.expired, edit.refund = expired, int(given(hits, usage.Live))
	case n > r.limit:
	case n > r.limit-usage.Live:
		usage.Due = min(now, l.at(expired+int(usage.Live+n-r.limit)-1))
	case hits > 0:
		edit.expired, edit.hits = expired, int(n)
	}
	if newest := l.size - edit.refund - 1; newest >= expired {
		usage.Newest = min(now, l.at(newest))
	}
	d := r.DecideLogUsage(usage, now, hits)
	if edit.clamp == 0 && (hits == 0 || !d.Allowed) {
		return LogEdit{}, d
	}
	return edit, d
}
