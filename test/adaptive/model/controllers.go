package model

import "github.com/eb50146d/rls/pkg/algorithms/adaptive"

// Contender is a controller to compare.
type Contender struct {
	Name string
	New  func(b Bounds) Controller
}

// Contenders are in the order of the table: no controller at all, four classics
// with textbook constants, and the product's.
func Contenders() []Contender {
	rule := func(step func(*rival, adaptive.Stats) float64) func(Bounds) Controller {
		return func(b Bounds) Controller { return &rival{bounds: b, limit: b.Start, step: step} }
	}
	return []Contender{
		{"static", rule(static)},
		{"aimd", rule(aimd)},
		{"gradient2", func(b Bounds) Controller { return rule((&gradient2{}).step)(b) }},
		{"vegas", rule(vegas)},
		{"pid", func(b Bounds) Controller { return rule((&pid{}).step)(b) }},
		{"delivered", Delivered},
	}
}

// delivered is the product's controller.
type delivered struct {
	config adaptive.Config
	state  adaptive.State
}

// Delivered is the product's controller as the owner of a rule sets it up.
func Delivered(b Bounds) Controller {
	config := adaptive.NewConfig(b.Min, b.Max, b.Start)
	config.Quantile, config.Threshold = b.Quantile, b.Threshold
	return &delivered{config, config.Start()}
}

func (d *delivered) Tick(s adaptive.Stats) float64 {
	d.state = d.config.Step(d.state, s)
	return d.state.Limit
}
