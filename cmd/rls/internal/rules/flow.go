package rules

import "sync/atomic"

// Flow counts the hits and the requests that met an adaptive rule.
type Flow struct {
	admitted, refused, requests atomic.Int64
}

// Counts are what a Flow has counted.
type Counts struct {
	Admitted int64 // hits of requests that went on to the target
	Refused  int64 // hits that the rule refused
	Requests int64 // that went on to the target; one that meets several of its rules is counted by the first
}

// Plus adds up.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Admitted + o.Admitted, c.Refused + o.Refused, c.Requests + o.Requests}
}

// Admit counts the hits of a request that goes on, and the request.
func (f *Flow) Admit(hits int64) {
	f.admitted.Add(hits)
	f.requests.Add(1)
}

// AdmitMore counts further hits of a request that is counted already.
func (f *Flow) AdmitMore(hits int64) { f.admitted.Add(hits) }

// Refuse counts the hits of a request that the rule refuses.
func (f *Flow) Refuse(hits int64) { f.refused.Add(hits) }

// Take is what was counted since the last Take.
func (f *Flow) Take() Counts {
	return Counts{Admitted: f.admitted.Swap(0), Refused: f.refused.Swap(0), Requests: f.requests.Swap(0)}
}
