package steer

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// TestCoverageIsPatient: one tick teaches little, and what it taught is gone soon.
func TestCoverageIsPatient(t *testing.T) {
	t.Parallel()
	after := func(c coverage, completed float64, ticks int) coverage {
		for range ticks {
			c = c.learn(completed, 100, true)
		}
		return c
	}
	tests := []struct {
		name  string
		got   coverage
		least float64
		most  float64
	}{
		{"a lie first", after(coverage{}, 1e9, 1), 2, 2},
		{"a lie beside whole traffic", after(coverage{Ticks: learning, Share: 1}, 1e9, 1), 1.3, 1.3},
		{"five ticks after it", after(coverage{Ticks: learning, Share: 1.3}, 100, 5), 1, 1.06},
		{"a lie beside a part of the traffic", after(coverage{Ticks: learning, Share: 0.2}, 1e9, 1), 0.44, 0.44},
		{"lies without end", after(coverage{Ticks: learning, Share: 1}, 1e9, 100), greatestShare, greatestShare},
		{"thirty ticks after them", after(coverage{Ticks: learning, Share: greatestShare}, 100, 30), 1, 1.1},
		{"a target that hangs", after(coverage{Ticks: learning, Share: 1}, 10, 5), 0.79, 0.8},
		{"another proxy that begins to report", after(coverage{Ticks: learning, Share: 0.1}, 100, 5), 0.8, 0.9},
	}
	for _, test := range tests {
		if share := test.got.Share; share < test.least-1e-9 || share > test.most+1e-9 {
			t.Errorf("share %v after %s, want %v to %v", share, test.name, test.least, test.most)
		}
	}
}

func TestSane(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]float64{0: 0, 5: 5, -1: 0, 1e300: 0, math.Inf(1): 0, math.NaN(): 0} {
		if got := sane(rate); got != want {
			t.Errorf("%v of %v, want %v", got, rate, want)
		}
	}
}

// TestReadSane: of a state that was read, what cannot be is as if it were not there.
func TestReadSane(t *testing.T) {
	t.Parallel()
	p := pilot{config: adaptive.NewConfig(50, 2000, 400)}
	state, err := json.Marshal(p.config.Start())
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"state": %s, "coverage": {"ticks": -1}, "report_age": -1, "reported": true, "delivered": -5, "reporters": -1}`
	got, err := p.read(fmt.Appendf(nil, text, state))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(memory{State: p.config.Start()}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompleted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		rates    []float64
		admitted float64
		cover    coverage
		want     float64
	}{
		{"none", nil, 100, coverage{}, 0},
		{"one", []float64{90}, 100, coverage{}, 90},
		{"one, while its queue drains", []float64{800}, 100, coverage{}, 800},
		{"one that lies", []float64{1e9}, 100, coverage{}, 1000},
		{"two, of which one lies", []float64{90, 1e9}, 100, coverage{}, 1090},
		{"three", []float64{30, 30, 30}, 100, coverage{}, 90},
		{"uneven ones", []float64{90, 20, 20}, 100, coverage{}, 130},
		{"uneven ones, more than was let through", []float64{91, 20, 20}, 100, coverage{}, 60},
		{"uneven ones, of a part of the traffic", []float64{11, 2, 2}, 100, coverage{Ticks: learning, Share: 0.1}, 15},
		{"uneven ones, of more than that", []float64{12, 2, 2}, 100, coverage{Ticks: learning, Share: 0.1}, 6},
		{"four, of which one lies", []float64{30, 30, 1e9, 30}, 100, coverage{}, 120},
		{"five, of which two lie", []float64{1e9, 30, 30, 1e9, 30}, 100, coverage{}, 150},
		{"few of many that are idle", []float64{1, 1, 1, 1, 98, 1, 1, 1}, 100, coverage{}, 105},
		{"a liar is not idle", []float64{2, 30, 30, 1e9, 30}, 100, coverage{}, 122},
		{"few, since most of the traffic is not reported", []float64{1, 0.5, 1}, 100, coverage{Ticks: learning, Share: 0.025}, 2.5},
		{"idle ones by what was let through, whatever was learned", []float64{30, 30, 30, 30, 1e9}, 120, coverage{Ticks: learning, Share: 50}, 150},
		{"nothing was let through", []float64{30, 30}, 0, coverage{}, 0},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, completed(test.rates, test.admitted, test.cover), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	var c coverage
	for i, completed := range []float64{50, 40, 60, 55, 45} {
		if got := c.now(); got != 1 {
			t.Errorf("share %v at tick %d, want 1 while it is learned", got, i)
		}
		c = c.learn(completed, 100, true)
	}
	check := func(what string, want float64) {
		t.Helper()
		if got := c.now(); math.Abs(got-want) > 1e-9 {
			t.Errorf("share %v %s, want %v", got, what, want)
		}
	}
	check("after five ticks", 0.5)
	c = c.learn(10, 100, false)
	check("after an overload", 0.5)
	c = c.learn(10, 0, true)
	c = c.learn(0, 10, true)
	check("after ticks without requests", 0.5)
	c = c.learn(300, 100, false)
	check("while a queue drains", 0.5)
	c = c.learn(100, 100, true)
	check("after a fuller tick", 0.65)
	c = c.learn(45, 100, true)
	check("after an emptier tick", 0.64)
	for _, odd := range []coverage{{Ticks: -1}, {Ticks: learning, Share: -1}, {Ticks: learning, Share: 1e300}, {Ticks: learning + 1, Share: 0.5}, {Ticks: 1, Share: math.NaN()}} {
		if got := odd.sane(); got != (coverage{}) {
			t.Errorf("%+v was believed", odd)
		}
	}
	if ok := (coverage{Ticks: learning, Share: 0.5}); ok.sane() != ok {
		t.Errorf("%+v was not believed", ok)
	}
	c = coverage{Ticks: learning, Share: -3}
	check("of nonsense", 1)
}

// TestSettled: a cut ends the ticks that say what share is seen, until what it
// brought is over.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		state adaptive.State
		want  bool
	}{
		{"growing", adaptive.State{}, true},
		{"above the goal", adaptive.State{Hot: 1}, false},
		{"cooling down", adaptive.State{Cool: 1}, false},
		{"draining", adaptive.State{Drain: 1}, false},
	} {
		if got := settled(&tt.state); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
