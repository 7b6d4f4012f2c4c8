package adaptive

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A vector is a configuration, ticks, and the limit after each of them.
type vector struct {
	Name string `json:"name"`
	Rule struct {
		Config vectorConfig `json:"config"`
	} `json:"rule"`
	Ticks    []vectorTick `json:"ticks"`
	Expected []float64    `json:"expected_limit"`
}

type vectorConfig struct {
	MinLimit     float64  `json:"min_limit"`
	MaxLimit     float64  `json:"max_limit"`
	DefaultLimit float64  `json:"default_limit"`
	Quantile     float64  `json:"quantile"`
	Threshold    *float64 `json:"threshold"`
	ErrMax       float64  `json:"err_max"`

	Tolerance    float64 `json:"tolerance"`
	BaseDown     float64 `json:"base_down"`
	BaseUp       float64 `json:"base_up"`
	MinSamples   float64 `json:"min_samples"`
	EnoughN      float64 `json:"enough_n"`
	AccMax       int     `json:"acc_max"`
	SmoothN      float64 `json:"smooth_n"`
	Severe       float64 `json:"severe"`
	Confirm      int     `json:"confirm"`
	CutMin       float64 `json:"cut_min"`
	CutMax       float64 `json:"cut_max"`
	Settle       float64 `json:"settle"`
	DrainS       float64 `json:"drain_s"`
	DrainMax     float64 `json:"drain_max"`
	Resume       float64 `json:"resume"`
	GrowMin      float64 `json:"grow_min"`
	GrowMax      float64 `json:"grow_max"`
	GrowAccel    float64 `json:"grow_accel"`
	RoomAccel    float64 `json:"room_accel"`
	Near         float64 `json:"near"`
	GiveUp       float64 `json:"give_up"`
	FlatTicks    int     `json:"flat_ticks"`
	BlindAfter   float64 `json:"blind_after"`
	BlindRecent  float64 `json:"blind_recent"`
	StaleHold    float64 `json:"stale_hold"`
	UpHold       float64 `json:"up_hold"`
	DriftDownTau float64 `json:"drift_down_tau"`
	DriftUpTau   float64 `json:"drift_up_tau"`

	// Later than the others: a vector that does not name them is of a controller
	// without them.
	BaseOnce float64 `json:"base_once"`
	Scarce   float64 `json:"scarce"`
	Waiting  float64 `json:"waiting"`
	Easy     float64 `json:"easy"`
	Spare    float64 `json:"spare"`
	GrowUp   float64 `json:"grow_up"`
	Fade     float64 `json:"fade"`

	Behind    float64 `json:"behind"`
	Sure      float64 `json:"sure"`
	Linger    float64 `json:"linger"`
	Far       float64 `json:"far"`
	FarScarce float64 `json:"far_scarce"`
	FarGuided float64 `json:"far_guided"`
}

func (v *vectorConfig) config() Config {
	c := NewConfig(v.MinLimit, v.MaxLimit, v.DefaultLimit)
	c.Quantile, c.ErrorRatio = v.Quantile, v.ErrMax
	if v.Threshold != nil {
		c.Threshold = *v.Threshold
	}
	c.tuning = tuning{
		tolerance: v.Tolerance, baseDown: v.BaseDown, baseUp: v.BaseUp,
		minSamples: v.MinSamples, enough: v.EnoughN, gatherMost: v.AccMax, smooth: v.SmoothN,
		severe: v.Severe, confirm: v.Confirm, cutMin: v.CutMin, cutMax: v.CutMax, settle: v.Settle,
		drain: v.DrainS, drainMost: v.DrainMax, resume: v.Resume,
		growMin: v.GrowMin, growMax: v.GrowMax, growFaster: v.GrowAccel, room: v.RoomAccel, near: v.Near,
		giveUp: v.GiveUp, flatTicks: v.FlatTicks, flatAtMin: tuned().flatAtMin,
		blindAfter: v.BlindAfter, blindRecent: v.BlindRecent, holdHigh: v.StaleHold, holdLow: v.UpHold,
		driftDown: v.DriftDownTau, driftUp: v.DriftUpTau,
		baseOnce: v.BaseOnce, scarce: v.Scarce, waiting: v.Waiting,
		easy: v.Easy, spare: v.Spare, growUp: v.GrowUp, fade: v.Fade,
		behind: v.Behind, sure: v.Sure, linger: v.Linger, far: v.Far, farScarce: v.FarScarce, farGuided: v.FarGuided,
	}
	return c
}

type vectorTick struct {
	P50          *float64 `json:"p50"`
	P99          *float64 `json:"p99"`
	Err          float64  `json:"err"`
	Ratio        float64  `json:"ratio"`
	N            uint64   `json:"n"`
	Admitted     float64  `json:"admitted"`
	Denied       float64  `json:"denied"`
	AdmittedThen float64  `json:"admitted_then"`
	Age          float64  `json:"age"`
	Dt           float64  `json:"dt"`
}

func (v *vectorTick) stats() Stats {
	t := Stats{
		Samples: v.N, ErrorRatio: v.Err, OKRatio: v.Ratio,
		Admitted: v.Admitted, Denied: v.Denied, AdmittedThen: v.AdmittedThen, Age: v.Age, Interval: v.Dt,
	}
	if v.P50 != nil {
		t.P50, t.P99 = *v.P50, *v.P99
	}
	return t
}

func vectors(t *testing.T) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/adaptive_ctl_*.json")
	if err != nil || len(files) != 19 {
		t.Fatalf("%d vectors, want 19: %v", len(files), err)
	}
	all := make([]vector, len(files))
	for i, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		err = json.Unmarshal(data, &all[i])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(all[i].Ticks) == 0 || len(all[i].Ticks) != len(all[i].Expected) {
			t.Fatalf("%s: %d ticks, %d limits", name, len(all[i].Ticks), len(all[i].Expected))
		}
	}
	return all
}

// near says that two figures are the same to a millionth.
func near(want, got float64) bool {
	return math.Abs(got-want) <= 1e-6*want
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			c := v.Rule.Config.config()
			s := c.Start()
			for i, tick := range v.Ticks {
				s = c.Step(s, tick.stats())
				if !near(v.Expected[i], s.Limit) {
					t.Fatalf("tick %d: limit %v (%s), want %v", i, s.Limit, s.Reason, v.Expected[i])
				}
			}
		})
	}
}
