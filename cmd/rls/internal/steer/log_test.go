package steer_test

import (
	"testing"
)

// moved is a line about a limit.
type moved struct{ from, to, loggedBefore int64 }

func (w *world) moves() []moved {
	w.t.Helper()
	var all []moved
	for _, line := range w.logs.FilterMessage("adaptive limit moved").All() {
		f := line.ContextMap()
		var m moved
		var ok [3]bool
		m.from, ok[0] = f["from"].(int64)
		m.to, ok[1] = f["to"].(int64)
		m.loggedBefore, ok[2] = f["logged_before"].(int64)
		if ok != [3]bool{true, true, true} || f["reason"] == "" || f["rule"] != "checkout" || f["domain"] != "shop" || f["target"] != "checkout" {
			w.t.Errorf("logged %v", f)
		}
		all = append(all, m)
	}
	return all
}

// TestLog: a line tells from where the limit has moved just now, and where it was in
// the line before: there may have been smaller moves between.
func TestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil, "")
	logged, between, lines := int64(400), false, 0
	for range 30 {
		before := w.limit()
		w.busy()
		if len(w.moves()) == lines {
			continue
		}
		m := w.moves()[lines]
		lines++
		if m != (moved{before, w.limit(), logged}) || m.to <= logged*11/10 {
			t.Errorf("logged %+v, moved from %d to %d, more than a tenth beyond %d", m, before, w.limit(), logged)
		}
		between = between || m.from != logged
		logged = m.to
	}
	if lines < 5 || !between || logged < w.limit()*10/11 {
		t.Errorf("%d lines, the last to %d of %d", lines, logged, w.limit())
	}
	before := w.limit()
	w.overload(300)
	if all := w.moves(); len(all) != lines+1 || all[lines] != (moved{before, w.limit(), logged}) {
		t.Errorf("logged %+v, want a cut from %d to %d", all[lines:], before, w.limit())
	}
}
