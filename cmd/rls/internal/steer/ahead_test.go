package steer

import (
	"testing"
	"time"
)

// TestAhead says when a replica's own memory is better than the state that all share.
func TestAhead(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }
	heard := func(step time.Time, age float64) memory { return memory{At: step, ReportAge: age, Reported: true} }
	alone := heard(time.Time{}, 1)
	for _, row := range []struct {
		name   string
		alone  bool
		own    memory
		shared memory
		want   bool
	}{
		{"together", false, heard(at(9), 0), heard(at(8), 0), false},
		{"the later step was not kept", true, heard(at(9), 0), heard(at(8), 0), true},
		{"it was kept after all", true, heard(at(9), 0), heard(at(9), 0), false},
		{"another one has stepped since", true, heard(at(8), 0), heard(at(9), 0), false},
		{"nothing was ever kept", true, heard(at(9), 0), memory{}, true},
		{"the clock of another server", true, heard(at(11), 0), heard(at(8), 0), false},
		{"by itself, with newer news", true, alone, heard(at(3), 0), true},
		{"by itself, with hardly newer news", true, alone, heard(at(5), 0), false},
		{"by itself, having heard nothing", true, memory{}, heard(at(3), 0), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := &pilot{alone: row.alone, memory: row.own}
			if got := p.ahead(&row.shared, at(10)); got != row.want {
				t.Errorf("ahead is %t, want %t", got, row.want)
			}
		})
	}
}
