package redis

import (
	"testing"

	"github.com/eb50146d/rls/pkg/backend"
)

// Part decides hits of one key as a part of a larger request, whose other parts
// are not asked, and returns what gives back the charge.
func (r *Redis) Part(t *testing.T, key string, rule *backend.Rule, hits int64) (allowed bool, giveBack func()) {
	t.Helper()
	asks := []backend.Ask{{Key: []byte(key), Rule: rule, Hits: hits}, {Key: []byte("another"), Rule: rule, Hits: hits}}
	answers := make([]backend.Answer, len(asks))
	c, back := r.newCall(), r.newCall()
	c.prepare(&backend.Request{Charge: backend.AllOrNothing, Asks: asks}, answers, &r.keys, share{[]int{0, 1}, 0})
	r.run(t, c)
	c.answer(answers)
	return answers[0].Allowed, func() {
		if back.giveBack(c) {
			r.run(t, back)
		}
	}
}

func (r *Redis) run(t *testing.T, c *call) {
	t.Helper()
	if err := r.nodeOf(c).batcher.submit(c); err != nil {
		t.Fatal(err)
	}
	<-c.done
	if c.err != nil {
		t.Fatal(c.err)
	}
}

// SlotOf is the slot of a key.
func SlotOf(key string) int { return int(slotOf([]byte(key))) }
