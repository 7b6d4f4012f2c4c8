package descriptors

import (
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// OnError is what a rule wants to happen when its store cannot decide in time.
// The zero OnError is invalid.
type OnError uint8

// The failure policies.
const (
	OnErrorFail OnError = iota + 1
	OnErrorAllow
	OnErrorDeny
	OnErrorLocal
)

// Charge is what a refused request of a domain pays. The zero Charge is invalid.
type Charge uint8

// The ways to charge.
const (
	AllOrNothing Charge = iota + 1
	Independent
)

// Entry is one key and value of a descriptor, in any bytes.
type Entry struct{ Key, Value string }

// Rule is one rule of a tree. It does not change.
type Rule struct {
	Index     int // in Tree.Rules; -1 for a rule that a request brought along
	Domain    string
	Path      string
	Entries   []Entry // of the descriptors that lead to the rule; an empty value stands for any
	Name      string  // as written, "" if not
	File      string
	Line      int
	Unlimited bool             // every request passes and nothing is kept
	Limit     *algorithms.Rule // nil if Unlimited
	OnError   OnError
	Shadow    bool
	Quota     bool
	Adaptive  *Adaptive // nil for other algorithms
	Replaces  []string  // the names of the rules whose place it takes in a request

	// AlgorithmNamed says that the rule, or its file's defaults, name an algorithm.
	AlgorithmNamed bool
	// Metadata is what the rule adds to an answer: text, numbers (float64), booleans,
	// nil, []any and map[string]any. Nobody may change it.
	Metadata map[string]any

	// What a caller is told of the limit: requests per so many units.
	RequestsPerUnit uint32
	Unit            Unit
	UnitMultiplier  uint32 // at least 1, 0 if the unit is unknown

	params   algorithms.Params // that made Limit
	marks    []mark            // of Entries; nil if there are none
	detailed bool              // the statistic key has all values
	statKey  string            // "" if it depends on the values
}

// Adaptive is what the owner of an adaptive rule says beside its limits.
type Adaptive struct {
	Target     string
	Quantile   float64       // 0.5 or 0.99; 0 = the baseline is learned
	Threshold  time.Duration // of that quantile; 0 = the baseline is learned
	ErrorRatio float64       // above which the target is unwell
}

// Label is what a rule is called in metrics, replay and answers: its name, else
// its path.
func (r *Rule) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Path
}

// OnGrid says whether the rule counts in windows on the epoch's grid, whose ends
// are known in advance.
func (r *Rule) OnGrid() bool {
	return r.params.Kind == algorithms.FixedWindow && !r.params.FirstHit
}
