package redis

import (
	"context"
	"time"

	"github.com/eb50146d/rls/pkg/backend"
)

// round is a request on its way: one call, or in a cluster one for each key.
type round struct {
	calls []*call
	errs  []error // of calls
	parts []int   // in a cluster for each ask its call, or keyless
	order []int   // scratch of number
	backs []*call // what gives back
	timer *time.Timer
	late  error // why nothing is waited for any more
}

func newRound() *round {
	r := &round{timer: time.NewTimer(time.Hour)}
	r.timer.Stop()
	return r
}

// ask has the asks without an answer decided.
func (r *Redis) ask(ctx context.Context, rd *round, req *backend.Request, answers []backend.Answer) {
	patience := r.budget
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-r.reserve)
	}
	r.prepare(rd, req, answers)
	rd.late = nil
	rd.timer.Reset(max(patience, 0))
	for i, c := range rd.calls {
		rd.errs[i] = ErrTimeout
		if patience > 0 {
			rd.errs[i] = r.nodeOf(c).batcher.submit(c)
		}
		if rd.errs[i] != nil {
			r.calls.Put(c)
		}
	}
	rd.await(ctx)
	for i, c := range rd.calls {
		if rd.errs[i] == nil {
			rd.errs[i] = c.err
			if c.err != nil {
				r.calls.Put(c)
			}
		}
		if err := rd.errs[i]; err != nil {
			rd.fail(i, answers, err)
			rd.calls[i] = nil
			continue
		}
		c.answer(answers)
	}
}

// prepare makes the calls.
func (r *Redis) prepare(rd *round, req *backend.Request, answers []backend.Answer) {
	parts := 1
	var marks []int
	if r.cluster != nil {
		parts = rd.number(req, answers)
		marks = rd.parts
	}
	for part := range parts {
		c := r.newCall()
		c.prepare(req, answers, &r.keys, share{marks, part})
		if r.cluster != nil {
			c.slot = slotOf(c.items[0].key)
		}
		rd.calls, rd.errs = append(rd.calls, c), append(rd.errs, nil)
	}
}

// await waits for all calls that were submitted. If one fails here, it is no longer
// the caller's.
func (rd *round) await(ctx context.Context) {
	for i, c := range rd.calls {
		if rd.errs[i] == nil && !rd.came(ctx, c, left) {
			rd.errs[i] = rd.late
		}
	}
}

// came waits for c, and says whether it came; if not it is marked as abandoned.
func (rd *round) came(ctx context.Context, c *call, abandoned int32) bool {
	if rd.late == nil {
		select {
		case <-c.done:
			return true
		case <-rd.timer.C:
			rd.late = ErrTimeout
		case <-ctx.Done():
			rd.late = ctx.Err()
		}
	}
	if c.state.CompareAndSwap(waiting, abandoned) {
		return false
	}
	<-c.done // it has come at the last moment
	return true
}

// fail answers the asks of call i with an error.
func (rd *round) fail(i int, answers []backend.Answer, err error) {
	for a := range answers {
		if answers[a].Source == 0 && (len(rd.parts) == 0 || rd.parts[a] == i) {
			answers[a].Err = err
		}
	}
}

// spare makes the answers those of a refused request, for which calls that did not
// know of the refusal have charged, and gives that back. It waits for that no
// longer than for the decision, but it is done in any case.
func (r *Redis) spare(ctx context.Context, rd *round, req *backend.Request, answers []backend.Answer) {
	for _, c := range rd.calls {
		if c == nil || c.refused {
			continue
		}
		c.spare(answers)
		if req.Charge != backend.AllOrNothing {
			continue
		}
		back := r.newCall()
		if !back.giveBack(c) || r.nodeOf(back).batcher.submit(back) != nil {
			r.calls.Put(back)
			continue
		}
		rd.backs = append(rd.backs, back)
	}
	for _, back := range rd.backs {
		if rd.came(ctx, back, unheeded) {
			r.calls.Put(back)
		}
	}
}

func (r *Redis) newCall() *call {
	c, ok := r.calls.Get().(*call)
	if !ok {
		panic("redis: the pool of calls holds something else")
	}
	return c
}

// end forgets the calls.
func (r *Redis) end(rd *round) {
	for _, c := range rd.calls {
		if c != nil {
			r.calls.Put(c)
		}
	}
	rd.timer.Stop()
	clear(rd.calls)
	clear(rd.backs)
	rd.calls, rd.errs, rd.parts, rd.backs = rd.calls[:0], rd.errs[:0], rd.parts[:0], rd.backs[:0]
	r.rounds.Put(rd)
}
