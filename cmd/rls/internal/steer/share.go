package steer

import (
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

// stale is how old a shared state is when one that this replica has carried on by
// itself is the better one.
const stale = 5 * time.Second

// recall takes over the state that the replicas share.
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
	if p.alone && now.Sub(m.At) > stale {
		return
	}
	p.memory = m
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
	m.State = state
	return m, nil
}

// hear reads the rows of all replicas as of now. What a row says of reporters counts
// once.
func (p *pilot) hear(rows []redis.Row, now time.Time) []row {
	heard := make(map[string]time.Time, len(rows))
	all := make([]row, 0, len(rows))
	for _, r := range rows {
		var one row
		if err := json.Unmarshal(r.Data, &one); err != nil {
			p.log.Warn("adaptive rule: the row of a replica cannot be read", zap.String("replica", r.Replica), zap.Error(err))
			continue
		}
		if !r.At.After(p.memory.Heard[r.Replica]) {
			one.Seen = nil
		}
		heard[r.Replica] = r.At
		one.later(max(0, now.Sub(r.At).Seconds()))
		all = append(all, one)
	}
	p.memory.Heard = heard
	return all
}
