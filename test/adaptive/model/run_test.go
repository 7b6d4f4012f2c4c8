package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	sc := named(t, "steady")
	figures := func(seed uint64) Figures {
		f, err := Run(&sc, Delivered(sc.Controller), seed)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if diff := cmp.Diff(figures(1), figures(1)); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if figures(1)["p99_ms"] == figures(2)["p99_ms"] {
		t.Error("two seeds make the same run")
	}
}

// script is a controller that halves its limit at a tick, and keeps what it is told.
type script struct {
	limit float64
	heard []adaptive.Stats
}

func (s *script) Tick(stats adaptive.Stats) float64 {
	s.heard = append(s.heard, stats)
	if len(s.heard) == 5 {
		s.limit /= 2
	}
	return s.limit
}

// TestTicks checks what the controller is told of the rates, and that its limit holds.
func TestTicks(t *testing.T) {
	t.Parallel()
	sc := named(t, "steady")
	sc.Duration, sc.Warmup, sc.ReportDelay, sc.ServiceMS = 8, 0, 1.2, 1
	control := &script{limit: 400}
	if _, err := Run(&sc, control, 1); err != nil {
		t.Fatal(err)
	}
	type tick struct{ samples, admittedThen, age float64 }
	for i, s := range control.heard {
		limit := 400.0
		if i >= 5 {
			limit = 200
		}
		if s.Admitted < 0.95*limit || s.Admitted > 1.15*limit || s.Admitted+s.Denied < 650 || s.Admitted+s.Denied > 850 || s.Interval != 1 {
			t.Errorf("tick %d: admitted %v and denied %v in %v s at a limit of %v", i+1, s.Admitted, s.Denied, s.Interval, limit)
		}
		want := tick{age: 2}
		if i >= 2 {
			want.admittedThen = control.heard[i-2].Admitted
			want.samples = float64(s.Samples)
		}
		if diff := cmp.Diff(want, tick{float64(s.Samples), s.AdmittedThen, s.Age}, cmp.AllowUnexported(tick{})); diff != "" {
			t.Errorf("tick %d (-want +got):\n%s", i+1, diff)
		}
		if i >= 2 && (s.Samples < uint64(0.8*want.admittedThen) || s.OKRatio < 0.98) {
			t.Errorf("tick %d: %d samples of %v", i+1, s.Samples, want.admittedThen)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	sc := named(t, "steady")
	sc.Controller.Min = 500 // above the start
	if _, err := Average(&sc, Delivered, 1, 1); err == nil {
		t.Error("a limit outside its bounds is accepted")
	}
}
