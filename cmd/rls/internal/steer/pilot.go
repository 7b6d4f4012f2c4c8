package steer

import (
	"math"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/cmd/rls/internal/feedback"
	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/pkg/algorithms/adaptive"
)

// pilot steers one rule.
type pilot struct {
	id     ruleID
	target string
	log    *zap.Logger
	flow   *rules.Flow
	bound  *rules.Bound
	config adaptive.Config
	many   bool // each of several keys has the limit for itself

	history   history
	stepped   time.Time // when this process ticked last
	alone     bool      // what is known was carried on without the others
	unsteered bool      // the rule has still to be steered in this tick
	memory    memory
	since     time.Duration // from the last step of all to this one's last look
	inForce   int64         // the limit
	logged    int64         // the limit that the last line in the log told of
	looked    bool          // at what all share
	doubted   time.Time     // when a doubt about the reports was logged last
	heard     []*seen       // in the last step of this process
	heardAt   time.Time     // of that step
	shown     atomic.Pointer[Standing]
}

// memory is what a pilot knows from one tick to the next, and what replicas share.
// Instants of what they share are of the board's clock.
type memory struct {
	State    adaptive.State `json:"state"`
	Coverage coverage       `json:"coverage"`
	At       time.Time      `json:"at"`    // of the last step; zero: none, or one without the others
	Moved    time.Time      `json:"moved"` // when the limit changed last; zero: not since the start
	// Heard is which row of each replica the last step knew.
	Heard     map[string]time.Time `json:"heard"`
	Reporters int                  `json:"reporters"`  // in the last step
	ReportAge float64              `json:"report_age"` // s; of the last report, at the last step
	Reported  bool                 `json:"reported"`   // whether there ever was one; else ReportAge is since the start
	// Delivered is how many hits a second the target answered well, of all keys.
	Delivered float64 `json:"delivered"`
}

func newPilot(id ruleID, log *zap.Logger, now time.Time) *pilot {
	return &pilot{id: id, log: log, flow: new(rules.Flow), history: history{last: now}, stepped: now}
}

// take makes b the rule to steer. A rule whose bounds were changed goes on as near as
// they allow to where it is.
func (p *pilot) take(b *rules.Bound, now time.Time) {
	fresh := p.target != b.Adaptive.Target // what is known is about another one
	if !fresh {
		p.rescale(b.Limit().Limit.Window())
	}
	p.bound, p.target = b, b.Adaptive.Target
	p.config = configOf(b)
	p.many = b.ManyKeys()
	b.Flow = p.flow
	if fresh {
		p.looked = false
		p.memory, p.heard = memory{State: p.config.Start()}, nil
		p.inForce = b.Limit().Limit.Limit()
		p.logged = p.inForce
	}
	p.apply(now)
}

// rescale makes the limits known those of another unit: that is no move.
func (p *pilot) rescale(window time.Duration) {
	before := p.bound.Limit().Limit.Window()
	if window == before {
		return
	}
	p.inForce = hits(p.memory.State.Limit, window)
	if p.logged != unlogged {
		p.logged = int64(math.Round(float64(p.logged) * window.Seconds() / before.Seconds()))
	}
}

// hits is a limit in hits a second as whole ones in a window.
func hits(limit float64, window time.Duration) int64 {
	return int64(math.Floor(limit * window.Seconds() * (1 + 1e-12))) // 50/60*60 is less than 50
}

// configOf says what a rule's file says, in hits and seconds.
func configOf(b *rules.Bound) adaptive.Config {
	limit, a := b.Rule.Limit, b.Adaptive
	window := limit.Window().Seconds()
	least, most := limit.Bounds()
	c := adaptive.NewConfig(float64(least)/window, float64(most)/window, float64(limit.Limit())/window)
	c.ErrorRatio = a.ErrorRatio
	if a.Threshold > 0 {
		c.Quantile, c.Threshold = a.Quantile, a.Threshold.Seconds()
	}
	return c
}

// row is what this replica knows.
func (p *pilot) row(now time.Time, all []feedback.Observation) row {
	own := row{Passages: p.history.passages(now), Seen: make([]seen, len(all))}
	for i, o := range all {
		own.Seen[i] = seen{
			Reporter: o.Reporter, Start: now.Sub(o.Start).Seconds(), End: now.Sub(o.End).Seconds(),
			Started: o.Row.Started, StartedKnown: o.StartedKnown, OK: o.Row.OK, Errors: o.Row.Errors, Latency: o.Row.Latency,
		}
	}
	if p.alone && p.memory.Reported {
		own.Memory = &p.memory
	}
	return own
}

// steerAlone steps by what this replica knows.
func (p *pilot) steerAlone(now time.Time, own row) {
	p.step(now, max(0, now.Sub(p.stepped)), []row{own})
	p.stepped, p.alone = now, true
	p.memory.At = time.Time{}
}

// step is one tick of the controller at an instant of whatever clock is in use, and
// so long after the one before. A pause of all is no tick: it counts as one of the
// usual length.
func (p *pilot) step(at time.Time, since time.Duration, known []row) {
	m := &p.memory
	span := max(since, Interval/10)
	if span > remembered {
		span = Interval
	}
	var before []*seen
	if elapsed := at.Sub(p.heardAt); elapsed > 0 && elapsed < 3*Interval/2 {
		before = older(p.heard, elapsed.Seconds())
	}
	v := look(known, before, span.Seconds(), m.Coverage)
	p.heard, p.heardAt = v.heard, at
	delivered := sane(v.stats.AdmittedThen * v.stats.OKRatio)
	if p.many {
		v.stats = perKey(v.stats, m.State.Limit)
	}
	m.State = p.config.Step(m.State, v.stats)
	m.Coverage = m.Coverage.learn(v.completed, v.requests, settled(&m.State))
	m.At, p.since = at, 0
	m.Reporters = v.reporters
	if v.reporters > 0 {
		m.ReportAge, m.Reported, m.Delivered = v.stats.Age, true, delivered
	} else {
		m.ReportAge += since.Seconds()
	}
	p.doubt(at, v)
	p.apply(at)
}

// sane is a rate that can be: what other replicas leave need not make sense.
func sane(rate float64) float64 {
	const most = 1e19 // hits/s
	if rate >= 0 && rate <= most {
		return rate
	}
	return 0
}

// settled says that no queue grows or drains in the target, as far as is known: what
// ends in a second is what began.
func settled(s *adaptive.State) bool { return s.Hot == 0 && s.Cool == 0 && s.Drain == 0 }

// apply puts the limit in force; moved is when it came to be if it is another one.
func (p *pilot) apply(moved time.Time) {
	before := p.inForce
	p.bound.SetLimit(hits(p.memory.State.Limit, p.bound.Limit().Limit.Window()))
	limit := p.bound.Limit().Limit.Limit()
	if limit != before {
		p.inForce, p.memory.Moved = limit, moved
	}
	p.logMove(before, limit)
	p.show(limit)
}

// unlogged is the limit logged last when one was read back, which is no move.
const unlogged = -1

// worthALine is by what share of what was logged last a limit has to move until it is
// logged again.
const worthALine = 0.1

func (p *pilot) logMove(before, limit int64) {
	if p.logged == unlogged {
		p.logged = limit
	}
	if math.Abs(float64(limit-p.logged)) <= worthALine*float64(p.logged) {
		return
	}
	p.log.Info("adaptive limit moved", zap.String("domain", p.id.domain), zap.String("rule", p.id.label), zap.String("target", p.target),
		zap.Int64("from", before), zap.Int64("to", limit), zap.Int64("logged_before", p.logged), zap.String("reason", string(p.memory.State.Reason)))
	p.logged = limit
}

// perKey are stats of a rule with many keys, each of which has the limit for itself,
// as one key would see them that is as busy as its limit allows: the controller
// compares them with the limit. Such a rule is in use only where it refuses.
func perKey(s adaptive.Stats, limit float64) adaptive.Stats {
	keys := max(1, s.AdmittedThen/limit)
	s.AdmittedThen /= keys
	s.Admitted /= max(1, s.Admitted/limit)
	if s.Denied == 0 {
		s.Admitted = min(s.Admitted, limit/2)
	}
	return s
}
