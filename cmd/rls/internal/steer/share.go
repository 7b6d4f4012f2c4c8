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

// recall takes over the state that the replicas share, unless this one has gone on
// without the others and heard of its target since.
func (p *pilot) recall(data []byte, now time.Time) {
	if data == nil {
		p.memory.Heard = nil
		return
	}
	m, err := p.read(data)
	if err != nil {
		p.log.Warn("adaptive rule: the state in redis cannot be read; going on without it",
			zap.String("domain", p.id.domain), zap.String("rule", p.id.label), zap.Error(err))
		return
	}
	if p.alone && p.memory.news(now)+stale < m.news(now) {
		return
	}
	p.memory, p.alone = m, false
	if !p.looked {
		p.looked, p.logged = true, unlogged
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
	m.State, m.Coverage, m.Delivered = state, m.Coverage.sane(), sane(m.Delivered)
	if !(m.ReportAge >= 0 && m.ReportAge < longest.Seconds()) {
		m.ReportAge, m.Reported = 0, false
	}
	return m, nil
}

// readRow reads a row. A memory in it that no controller can have is as none.
func (p *pilot) readRow(data []byte) (row, error) {
	var read struct {
		row

		Memory json.RawMessage `json:"memory"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return row{}, err //nolint:wrapcheck // logged as it is
	}
	if len(read.Memory) == 0 {
		return read.row, nil
	}
	m, err := p.read(read.Memory)
	read.row.Memory = &m
	return read.row, err
}

// hear reads the rows of all replicas as of now. What a row says of reporters counts
// once. Where a replica has gone on by itself, and with newer news than this one has,
// its memory becomes this one's.
func (p *pilot) hear(rows []redis.Row, now time.Time) []row {
	before := p.memory.Heard
	heard := make(map[string]time.Time, len(rows))
	all := make([]row, 0, len(rows))
	for _, r := range rows {
		one, err := p.readRow(r.Data)
		if err != nil {
			p.log.Warn("adaptive rule: the row of a replica cannot be read", zap.String("replica", r.Replica), zap.Error(err))
			continue
		}
		if !r.At.After(before[r.Replica]) {
			one.Seen = nil
		}
		heard[r.Replica] = r.At
		one.later(max(0, now.Sub(r.At).Seconds()))
		if m := one.Memory; m != nil && m.news(now)+stale < p.memory.news(now) {
			p.memory = *m
		}
		all = append(all, one)
	}
	p.memory.Heard = heard
	return all
}
