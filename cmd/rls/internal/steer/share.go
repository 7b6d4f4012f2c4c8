package steer

import (
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

// stale is how much newer the news must be that a replica has carried on by itself
// than those that all share, to be the better ones.
const stale = 5 * time.Second

// name is that of the rule among those of its target.
func (p *pilot) name() string { return p.id.domain + "\x00" + p.id.label }

// meet takes over what all know of the rule, and steps for all if this replica has
// the turn. At is now by the board's clock.
func (p *pilot) meet(part *redis.Part, words []word, at, now time.Time) (stepped bool) {
	p.recall(part.State, at)
	if !part.Turn {
		p.unsteered = p.alone && p.memory.At.IsZero() // until the one whose turn it is has read of it
		if !p.unsteered {
			p.stepped, p.since = now, max(0, at.Sub(p.memory.At))
			p.apply(p.memory.Moved)
		}
		return false
	}
	known := p.hear(words, at)
	since := Interval
	if !p.memory.At.IsZero() {
		since = max(0, at.Sub(p.memory.At))
	}
	p.step(at, since, known)
	p.stepped, p.alone, p.unsteered = now, false, false
	return true
}

// recall takes over the state that the replicas share, unless this one is ahead.
func (p *pilot) recall(data []byte, now time.Time) {
	if data == nil {
		if !p.ahead(&memory{}, now) {
			p.memory.Heard = nil
		}
		return
	}
	m, err := p.read(data)
	if err != nil {
		p.log.Warn("adaptive rule: the state in redis cannot be read; going on without it",
			zap.String("domain", p.id.domain), zap.String("rule", p.id.label), zap.Error(err))
		return
	}
	if p.ahead(&m, now) {
		return
	}
	p.memory, p.alone = m, false
	if !p.looked {
		p.looked, p.logged = true, unlogged
	}
}

// ahead says whether this replica knows better than a state that all share: its last
// step was by what all know and is the newer one, but could not be kept; or it has
// gone on without the others and heard of its target since.
func (p *pilot) ahead(m *memory, now time.Time) bool {
	own := p.memory.At
	switch {
	case !p.alone:
		return false
	case !own.IsZero():
		return m.At.Before(own) && !own.After(now)
	default:
		return p.memory.news(now)+stale < m.news(now)
	}
}

// longest is more than any age that matters.
const longest = 1000 * time.Hour

// news is how old the last report is that a memory rests on, as of an instant of the
// clock of its last step.
func (m *memory) news(now time.Time) time.Duration {
	if !m.Reported {
		return longest
	}
	age := time.Duration(m.ReportAge * float64(time.Second))
	if !m.At.IsZero() {
		age += max(0, now.Sub(m.At))
	}
	return min(age, longest)
}

func (p *pilot) read(data []byte) (memory, error) {
	var read struct {
		memory

		State json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return memory{}, err //nolint:wrapcheck // logged as it is
	}
	state, err := p.config.Restore(read.State)
	if err != nil {
		return memory{}, err //nolint:wrapcheck // logged as it is
	}
	m := read.memory
	m.State, m.Coverage, m.Delivered, m.Reporters = state, m.Coverage.sane(), sane(m.Delivered), max(0, m.Reporters)
	if !(m.ReportAge >= 0 && m.ReportAge < longest.Seconds()) {
		m.ReportAge, m.Reported = 0, false
	}
	return m, nil
}

// hear takes in what all replicas say of the rule, as of now. What a row says of
// reporters counts once. Where a replica has gone on by itself, and with newer news
// than this one has, its memory becomes this one's.
func (p *pilot) hear(words []word, now time.Time) []row {
	before := p.memory.Heard
	heard := make(map[string]time.Time, len(words))
	all := make([]row, 0, len(words))
	for i := range words {
		w := &words[i]
		one := w.rowOf(p.name())
		if !w.at.After(before[w.replica]) {
			one.Seen = nil
		}
		heard[w.replica] = w.at
		one.later(max(0, now.Sub(w.at).Seconds()))
		if m := p.memoryOf(w); m != nil && m.news(now)+stale < p.memory.news(now) {
			p.memory = *m
		}
		all = append(all, one)
	}
	p.memory.Heard = heard
	return all
}

// memoryOf is what a replica has carried on by itself. One that no controller can
// have is as none.
func (p *pilot) memoryOf(w *word) *memory {
	data := w.Rules[p.name()].Memory
	if len(data) == 0 {
		return nil
	}
	m, err := p.read(data)
	if err != nil {
		p.log.Warn("adaptive rule: what a replica knows cannot be read", zap.String("domain", p.id.domain), zap.String("rule", p.id.label),
			zap.String("replica", w.replica), zap.Error(err))
		return nil
	}
	return &m
}
