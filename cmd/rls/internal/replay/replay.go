package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/eb50146d/rls/cmd/rls/internal/rules"
	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/pkg/backend"
	"github.com/eb50146d/rls/pkg/backend/local"
)

// maxLine is the longest line of a trace, in bytes.
const maxLine = 16 << 20

// Trace evaluates every line of a trace, in order, on a fresh local store of
// maxKeys keys, and gives each request's answer to out. An error names the line.
func Trace(ctx context.Context, set *rules.Set, maxKeys int, trace io.Reader, out Writer) error {
	r := &runner{set: set, out: out}
	r.store = local.New(local.Options{Now: func() int64 { return r.now }, MaxKeys: maxKeys})
	lines := bufio.NewScanner(trace)
	lines.Buffer(nil, maxLine)
	number := 0
	var err error
	for err == nil && lines.Scan() {
		number++
		if len(lines.Bytes()) > 0 {
			err = r.line(ctx, lines.Bytes())
		}
	}
	if err == nil && lines.Err() != nil {
		number++
		err = lines.Err()
	}
	if err != nil {
		err = fmt.Errorf("line %d: %w", number, err)
	}
	return errors.Join(err, r.store.Close(), out.Flush())
}

type runner struct {
	set        *rules.Set
	store      *local.Local
	out        Writer
	now        int64
	evaluation service.Evaluation
}

func (r *runner) line(ctx context.Context, text []byte) error {
	l, err := parse(text)
	if err != nil {
		return err
	}
	r.now = *l.Time
	if l.SetLimit != nil {
		return r.setLimit(l.SetLimit)
	}
	q, err := l.request()
	if err != nil {
		return err
	}
	if err := r.evaluation.Run(ctx, r.set, r.store, q); err != nil {
		return err
	}
	return r.out.Write(r.answer())
}

func (r *runner) setLimit(s *setLimit) error {
	if s.RequestsPerUnit == nil {
		return errors.New("set_limit.requests_per_unit is missing")
	}
	found := r.set.Named(s.Rule, s.Domain)
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
	a := &Answer{Time: r.now, Overall: code(e.Verdict == backend.OverLimit), Statuses: make([]Status, len(e.Results))}
	for i := range e.Results {
		a.Statuses[i] = statusOf(&e.Results[i])
	}
	return a
}
