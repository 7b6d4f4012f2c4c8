// Package model is a backend, its callers and the reporters between them in
// virtual time: what an adaptive limit is judged by before it meets a real one.
//
// The backend is a queue with many servers (M/M/c, first come, first served)
// that does not cancel: a request past its deadline still takes its server, which
// is what makes overload stay. Requests come at random at the offered rate and
// pass the limiter, rls' own rule of kind adaptive. Each admitted one is seen by one of a few
// reporters, whose reports of every second reach the controller late. The same
// seed gives the same run.
//
// Time is in seconds and rates are per second unless a name says otherwise.
package model

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed testdata/*.json
var files embed.FS

// Steps is a value that changes at instants: pairs of a time and the value from
// then on, in order of time.
type Steps [][2]float64

// At is the value at t.
func (s Steps) At(t float64) float64 {
	value := s[0][1]
	for _, step := range s {
		if t < step[0] {
			break
		}
		value = step[1]
	}
	return value
}

// Scenario is one experiment.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about"`

	Duration   int     `json:"duration"` // s
	Warmup     int     `json:"warmup"`   // s that the figures leave out
	Servers    int     `json:"servers"`
	ServiceMS  float64 `json:"service_ms"`  // mean
	DeadlineMS float64 `json:"deadline_ms"` // an answer that takes longer is late: an error
	Offered    Steps   `json:"offered"`     // requests/s
	Speed      Steps   `json:"speed"`       // of a server; 1 = ServiceMS
	ExtraMS    Steps   `json:"extra_ms"`    // on top of every answer, without taking a server
	Noise      float64 `json:"noise"`       // share of the answers with a heavy-tailed delay on top

	Reporters   int     `json:"reporters"`
	ReportDelay float64 `json:"report_delay_s"` // from the end of a second to the report of it
	Faults      []Fault `json:"faults"`
	Merge       Merge   `json:"merge"`

	Controller Bounds `json:"controller"`

	Drop  int        `json:"drop"`  // when capacity falls, s; 0 = never
	Back  int        `json:"back"`  // when it returns, s; 0 = never
	Probe [2]float64 `json:"probe"` // from and to, of the probe_ figures; zero = none

	// Accept has a bound for some figures, named figure_min or figure_max, as means
	// of Seeds runs.
	Accept map[string]float64 `json:"accept"`
	Seeds  uint64             `json:"seeds"` // 0 = 5
}

// Merge says how the reports of one second become one.
type Merge string

// The ways to merge.
const (
	Robust Merge = "robust" // the product's weighted median
	Pooled Merge = "pooled" // all samples of all reporters in one sketch
)

// Fault is what some reporters do from some instant on.
type Fault struct {
	Kind string `json:"kind"` // silent, stuck (repeats one report), high or low (lies)
	Who  []int  `json:"who"`
	At   int    `json:"at"` // s
}

// Bounds are what the owner of a rule sets: limits in hits/s, the goal in seconds.
type Bounds struct {
	Min       float64 `json:"min_limit"`
	Max       float64 `json:"max_limit"`
	Start     float64 `json:"default_limit"`
	Quantile  float64 `json:"quantile"`
	Threshold float64 `json:"threshold"` // 0 = none, a learned baseline
}

// capacity is what the backend can deliver at full speed, requests/s.
func (s *Scenario) capacity() float64 { return float64(s.Servers) / s.ServiceMS * 1e3 }

// Scenarios are the experiments that the controller was designed on.
func Scenarios() ([]Scenario, error) { return read("scenarios.json") }

// Weak are experiments on services that are hard to steer: of few requests, with
// answers slower than a tick, or under a goal that tells of trouble late.
func Weak() ([]Scenario, error) { return read("weak.json") }

// document is a file of scenarios. Each states what differs from the base, whose
// controller is the defaults.
type document struct {
	Defaults  json.RawMessage   `json:"controller_defaults"`
	Base      json.RawMessage   `json:"base"`
	Scenarios []json.RawMessage `json:"scenarios"`
}

func read(name string) ([]Scenario, error) {
	text, err := files.ReadFile("testdata/" + name)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := make([]Scenario, len(doc.Scenarios))
	for i, own := range doc.Scenarios {
		if err := json.Unmarshal(doc.Defaults, &all[i].Controller); err != nil {
			return nil, fmt.Errorf("%s: defaults: %w", name, err)
		}
		for _, layer := range []json.RawMessage{doc.Base, own} {
			if err := strict(layer, &all[i]); err != nil {
				return nil, fmt.Errorf("%s: scenario %d: %w", name, i, err)
			}
		}
	}
	return all, nil
}

// strict decodes over what is there and refuses names that mean nothing.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
