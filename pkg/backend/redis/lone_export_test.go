package redis

import (
	"testing"

	"github.com/eb50146d/rls/pkg/backend"
)

// Together decides requests by one call of the script. Nobody else may use r.
func (r *Redis) Together(t *testing.T, requests []*backend.Request) (answers [][]backend.Answer) {
	t.Helper()
	var calls []*call
	for _, req := range requests {
		c, own := r.newCall(), make([]backend.Answer, len(req.Asks))
		c.prepare(req, own, &r.keys, share{})
		calls, answers = append(calls, c), append(answers, own)
	}
	r.single.batcher.trip(calls)
	for i, c := range calls {
		<-c.done
		if c.err != nil {
			t.Fatal(c.err)
		}
		c.answer(answers[i])
	}
	return answers
}
