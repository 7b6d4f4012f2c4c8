package redis

import (
	"strconv"
	"strings"
	"time"

	"github.com/eb50146d/rls/pkg/algorithms"
	"github.com/eb50146d/rls/pkg/backend"
)

// answer fills in the answers of a call that Redis has decided, by the formulas
// of the algorithms on the states that the script decided on.
func (c *call) answer(answers []backend.Answer) {
	lines, next := c.lines, 0
	now := c.now * int64(time.Microsecond)
	for i, owner := range c.owners {
		switch {
		case owner == keyless:
			answers[i].Now = now
		case owner == elsewhere:
		case owner < next: // shared with an earlier ask
			answers[i] = answers[c.items[owner].first]
		default:
			var line string
			line, lines, _ = strings.Cut(lines, "\n")
			answers[i] = c.items[owner].answer(c, line, now)
			c.items[owner].first = i
			next++
		}
	}
}

// answer reads one item's line.
func (it *item) answer(c *call, line string, now int64) backend.Answer {
	if text, failed := strings.CutPrefix(line, "!"); failed {
		return backend.Answer{Now: now, Err: &replyError{text}}
	}
	it.thought, it.left = line, line
	told := strings.IndexAny(line, "|/")
	if told >= 0 {
		it.thought, it.left = line[:told], line[told+1:]
		c.refused = c.refused || line[told] == '|'
	}
	o, err := it.decide(it.thought, now, it.hits)
	it.fits = o.Allowed
	if c.refused && err == nil {
		o, err = it.spared(&o, it.left, now)
	}
	if err != nil {
		return backend.Answer{Now: now, Err: err}
	}
	roundUp(&o.Decision)
	return backend.Answer{Decision: o.Decision, Now: now, Used: o.used, Source: backend.FromStore}
}

// roundUp makes durations whole microseconds, as the clock that is waited for has.
func roundUp(decision *algorithms.Decision) {
	for _, d := range []*time.Duration{&decision.RetryAfter, &decision.ResetAfter, &decision.Delay} {
		if *d > 0 {
			*d = (*d + time.Microsecond - 1).Truncate(time.Microsecond)
		}
	}
}

// outcome is a decision and the hits that are held after it.
type outcome struct {
	algorithms.Decision
	used int64
}

// spared is the outcome of an item of a refused request, which keeps what it
// thought of itself while what remains is told as it then stands.
func (it *item) spared(thought *outcome, value string, now int64) (outcome, error) {
	hits := it.hits
	if hits > 0 && it.rule.Limit.Overdraft() == 0 {
		hits = 0
	}
	o, err := it.decide(value, now, hits)
	o.Allowed, o.RetryAfter, o.Delay = thought.Allowed, thought.RetryAfter, 0
	return o, err
}

func (it *item) decide(value string, now, hits int64) (o outcome, err error) {
	rule := it.rule.Limit
	var n [algorithms.MaxBuckets + 2]int64
	count, err := numbers(value, &n)
	if err != nil {
		return o, err
	}
	switch {
	case rule.Layout() == algorithms.InLog:
		o.Decision = rule.DecideLogUsage(algorithms.LogUsage{
			Live: n[0], Due: n[1] * int64(time.Microsecond), Newest: n[2] * int64(time.Microsecond),
		}, now, hits)
	case rule.Layout() == algorithms.InCounts:
		var counts algorithms.Counts
		if count > 0 {
			counts = algorithms.NewCounts(n[0], n[1:count])
		}
		_, o.Decision = rule.DecideCounts(&counts, now, hits)
	default:
		return it.decideInline(inline(rule, &n), now, hits), nil
	}
	o.used = rule.Capacity() - o.Remaining
	return o, nil
}

func (it *item) decideInline(state algorithms.State, now, hits int64) (o outcome) {
	rule := it.rule.Limit
	if it.countRefused && rule.Kind() == algorithms.FixedWindow {
		state, o.Decision = rule.DecideCountRefused(state, now, hits)
	} else {
		state, o.Decision = rule.Decide(state, now, hits)
	}
	o.used = rule.Capacity() - o.Remaining
	if rule.Kind() == algorithms.FixedWindow {
		o.used = rule.Used(state, now)
	}
	return o
}

// inline is the state that a value's numbers stand for; zeros are no value.
func inline(rule *algorithms.Rule, n *[algorithms.MaxBuckets + 2]int64) algorithms.State {
	switch rule.Kind().Family() {
	case algorithms.FixedFamily:
		return algorithms.WindowState(n[0], n[1])
	case algorithms.CounterFamily:
		return algorithms.CounterState(n[0], n[1], n[2])
	default:
		return algorithms.ArrivalState(n[0], n[1], n[2])
	}
}

// numbers reads a value: decimal numbers with a space between.
func numbers(value string, n *[algorithms.MaxBuckets + 2]int64) (count int, err error) {
	for value != "" {
		var word string
		word, value, _ = strings.Cut(value, " ")
		if count == len(n) {
			return 0, errReply
		}
		if n[count], err = strconv.ParseInt(word, 10, 64); err != nil {
			return 0, errReply
		}
		count++
	}
	return count, nil
}
