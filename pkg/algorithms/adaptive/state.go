package adaptive

// State is all that a controller remembers between ticks. It holds no pointers,
// so that a copy is another state, and == compares. As JSON it comes back
// exactly; Config.Restore reads it.
type State struct {
	Limit     float64 `json:"limit"`     // hits/s to enforce
	Reason    Reason  `json:"reason"`    // why it is there
	Delivered float64 `json:"delivered"` // hits/s answered well, as last reported
	Latency   float64 `json:"latency"`   // s, the steering quantile, smoothed; 0 = not seen yet
	Median    float64 `json:"median"`    // s, smoothed
	Baseline  float64 `json:"baseline"`  // s, the median without a queue; 0 = not learned yet
	Idle      float64 `json:"idle"`      // s, Latency without a queue
	Partial   bool    `json:"partial"`   // these two are of a tick in which not all was answered
	Best      float64 `json:"best"`      // hits/s, the most ever answered well, slowly forgotten

	Quantile float64 `json:"quantile"` // which latency Latency is, 0.5 or 0.99
	Answers  float64 `json:"answers"`  // answers/s reported, smoothed; 0 = none yet
	Growth   float64 `json:"growth"`   // share that the next growth adds
	Hot      int     `json:"hot"`      // ticks running with a latency or errors above the goal, counted up to the confirming one
	Peak     float64 `json:"peak"`     // hits/s, the most delivered in these ticks
	Level    float64 `json:"level"`    // s, a latency that stays put
	Flat     int     `json:"flat"`     // ticks for which it has

	Cut      bool    `json:"cut"`       // the limit was cut in these hot ticks
	Cool     float64 `json:"cool"`      // s until another cut or growth
	Mild     bool    `json:"mild"`      // the cut that Cool follows was mild
	Drain    float64 `json:"drain"`     // s of the drain left
	Full     bool    `json:"full"`      // it was to be over, and the queue was not
	Resume   float64 `json:"resume"`    // hits/s to go on with after it
	Mark     float64 `json:"mark"`      // hits/s delivered at the last cut; 0 = none yet
	SinceCut float64 `json:"since_cut"` // s, up to a day

	Silent  float64 `json:"silent"`  // s without usable reports, up to a day
	Unheard float64 `json:"unheard"` // s of these in which something was let in, up to a day
	Blind   bool    `json:"blind"`   // that has been long enough to doubt the limit
	Gather  gather  `json:"gather"`  // ticks gathered, not judged yet
}

// Start is the state of a rule that has seen nothing yet.
func (c Config) Start() State {
	return State{
		Limit: c.clamp(c.StartLimit), Reason: Starting,
		Quantile: c.steered(), Growth: c.tuning.growMin, SinceCut: longestTime,
	}
}

// adopt fits a state to a configuration that may have changed since.
func (c *Config) adopt(s State) State {
	if limit := c.clamp(s.Limit); limit != s.Limit {
		s.Limit, s.Reason = limit, Bounded
	}
	if s.Quantile != c.steered() { // Latency, Idle and Level are another figure's
		s.Quantile, s.Latency, s.Idle, s.Level, s.Flat = c.steered(), 0, 0, 0, 0
	}
	s.Growth = min(s.Growth, c.growthMost())
	return s
}
