package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/pkg/backend"
)

// maxLine is the longest line of a trace, in bytes.
const maxLine = 16 << 20

// Config is what a trace is evaluated with.
type Config struct {
	Rules   *rules.Set
	Options service.Options
	// Open opens an empty store on the clock now, which closing ends.
	Open func(now func() int64) (store backend.Backend, closing func() error, err error)
}

// Trace evaluates every line of a trace, in order, on a fresh store, and gives
// each request's answer to out. An error of a line names it.
func Trace(ctx context.Context, c Config, trace io.Reader, out Writer) error {
	r := &runner{Config: c, out: out}
	store, closing, err := c.Open(r.now.Load)
	if err != nil {
		return err
	}
	r.store = store
	lines := bufio.NewScanner(trace)
	lines.Buffer(nil, maxLine)
	number := 0
	for err == nil && lines.Scan() {
		number++
		text := lines.Bytes()
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			err = r.line(ctx, text)
		}
	}
	if err == nil && lines.Err() != nil {
		number++
		err = lines.Err()
	}
	if err != nil {
		err = fmt.Errorf("line %d: %w", number, err)
	}
	return errors.Join(err, closing(), out.Flush())
}

type runner struct {
	Config
	store      backend.Backend
	out        Writer
	now        atomic.Int64 // the trace's; the store's sweeper reads it, too
	evaluation service.Evaluation
}

func (r *runner) line(ctx context.Context, text []byte) error {
	l, err := parse(text)
	if err != nil {
		return err
	}
	r.now.Store(*l.Time)
	if l.SetLimit != nil {
		return r.setLimit(l.SetLimit)
	}
	q, err := l.request()
	if err != nil {
		return err
	}
	if err := r.evaluation.Run(ctx, r.Options, r.Rules, r.store, q); err != nil {
		return err
	}
	return r.out.Write(r.answer())
}

func (r *runner) setLimit(s *setLimit) error {
	if s.RequestsPerUnit == nil {
		return errors.New("set_limit.requests_per_unit is missing")
	}
	found := r.Rules.Named(s.Rule, s.Domain)
	switch {
	case len(found) == 0:
		return fmt.Errorf("set_limit: no rule is called %q", s.Rule)
	case len(found) > 1:
		return fmt.Errorf("set_limit: %d rules are called %q, add the domain of the one meant", len(found), s.Rule)
	case found[0].Adaptive == nil:
		return fmt.Errorf("set_limit: rule %q is not adaptive", s.Rule)
	}
	found[0].SetLimit(*s.RequestsPerUnit)
	return nil
}

// answer is the evaluation as it is written out.
func (r *runner) answer() *Answer {
	e := &r.evaluation
	a := &Answer{Time: r.now.Load(), Overall: code(e.Verdict == backend.OverLimit), Statuses: make([]Status, len(e.Results))}
	for i := range e.Results {
		a.Statuses[i] = statusOf(&e.Results[i])
	}
	return a
}
