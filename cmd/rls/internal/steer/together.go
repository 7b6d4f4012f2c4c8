package steer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/eb50146d/rls/pkg/backend/redis"
)

// Board is where replicas share what they know. A tick takes one call of each, since
// neither may keep the decisions' server busy by calls for each rule.
type Board interface {
	Share(ctx context.Context, replica string, posts []redis.Post, turn time.Duration) []redis.Shared
	Keep(ctx context.Context, states []redis.State) []error
}

// group are the rules of a target, as places in the order.
type group struct {
	target string
	places []int
}

func (s *Steering) groups() []group {
	var all []group
	known := map[string]int{}
	for i, p := range s.order {
		k, ok := known[p.target]
		if !ok {
			k = len(all)
			known[p.target] = k
			all = append(all, group{target: p.target})
		}
		all[k].places = append(all[k].places, i)
	}
	return all
}

// steerTogether leaves what this replica knows and takes over where the limits are;
// a rule that it has the turn of steps first, by what all know. Instants in what
// replicas share are of the board's clock. Afterwards unsteered says which rules this
// replica has still to steer by itself. The error is the first of any.
func (s *Steering) steerTogether(ctx context.Context, now time.Time, rows []row) error {
	groups := s.groups()
	posts := make([]redis.Post, len(groups))
	var failed error
	for i, g := range groups {
		var err error
		if posts[i], err = s.post(g, rows); err != nil {
			failed = cmp.Or(failed, err)
		}
	}
	var stepped []*pilot
	var states []redis.State
	all := s.shareAll(ctx, posts)
	s.leads = false
	for i, shared := range all {
		if shared.Err != nil {
			failed = cmp.Or(failed, shared.Err)
			continue
		}
		heard := s.read(shared.Rows)
		for k, place := range groups[i].places {
			p := s.order[place]
			if !p.meet(&shared.Parts[k], heard, shared.At, now) {
				continue
			}
			s.leads = s.leads || place == 0 // of all rules, that one leads which leads the first
			data, err := json.Marshal(&p.memory)
			if err != nil {
				p.alone, failed = true, cmp.Or(failed, fmt.Errorf("writing a state: %w", err))
				continue
			}
			stepped, states = append(stepped, p), append(states, redis.State{Name: p.target, Part: p.name(), Data: data})
		}
	}
	for i, err := range s.keepAll(ctx, states) {
		if err != nil { // what it knows goes into its next row
			stepped[i].alone, failed = true, cmp.Or(failed, err)
		}
	}
	return failed
}

// shareAll waits for the board no longer than its patience, in which it may have to
// connect first.
func (s *Steering) shareAll(ctx context.Context, posts []redis.Post) []redis.Shared {
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	return s.o.Board.Share(ctx, s.o.Replica, posts, s.turn())
}

// keepAll waits half as long on top of that: who was told late would else never keep.
func (s *Steering) keepAll(ctx context.Context, states []redis.State) []error {
	ctx, cancel := context.WithTimeout(ctx, s.patience()/2) //nolint:mnd // half
	defer cancel()
	return s.o.Board.Keep(ctx, states)
}

func (s *Steering) patience() time.Duration { return cmp.Or(s.o.Patience, Interval/2) }

// post is what this replica leaves for a target.
func (s *Steering) post(g group, rows []row) (redis.Post, error) {
	p := redis.Post{Name: g.target}
	own := make([]*row, len(g.places))
	for i, place := range g.places {
		s.order[place].unsteered = true
		p.Parts = append(p.Parts, s.order[place].name())
		own[i] = &rows[place]
	}
	var err error
	p.Row, err = leafOf(p.Parts, own)
	return p, err
}

// word is a leaf, and who left it when.
type word struct {
	leaf

	replica string
	at      time.Time
}

// read reads the rows of all replicas.
func (s *Steering) read(rows []redis.Row) []word {
	all := make([]word, 0, len(rows))
	for _, r := range rows {
		w := word{replica: r.Replica, at: r.At}
		if err := json.Unmarshal(r.Data, &w.leaf); err != nil {
			s.o.Log.Warn("adaptive rules: the row of a replica cannot be read", zap.String("replica", r.Replica), zap.Error(err))
			continue
		}
		all = append(all, w)
	}
	return all
}
