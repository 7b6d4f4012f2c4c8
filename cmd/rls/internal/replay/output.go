package replay

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/eb50146d/rls/cmd/rls/internal/service"
	"github.com/eb50146d/rls/cmd/rls/internal/telemetry"
	"github.com/eb50146d/rls/pkg/algorithms"
)

// Answer is the answer to one request of a trace.
type Answer struct {
	Time     int64    `json:"t_ns"`
	Overall  string   `json:"overall"`
	Statuses []Status `json:"statuses"`
}

// Status is the answer to one descriptor. Limit and Remaining are null where no
// rule matched or the rule is unlimited, RetryAfter where no wait helps.
type Status struct {
	Code       string  `json:"code"`
	Rule       *string `json:"rule"`
	Limit      *int64  `json:"limit"`
	Remaining  *int64  `json:"remaining"`
	RetryAfter *int64  `json:"retry_after_ns"`
	ResetAfter int64   `json:"reset_after_ns"`
	Delay      int64   `json:"delay_ns"`

	domain string // of the rule
}

func code(over bool) string {
	if over {
		return "OVER_LIMIT"
	}
	return "OK"
}

func statusOf(r *service.Result) Status {
	s := Status{Code: code(r.Over()), RetryAfter: new(int64)}
	if r.Rule != nil {
		label := r.Rule.Label()
		s.Rule, s.domain = &label, r.Rule.Domain
	}
	if r.Answer == nil {
		return s
	}
	limit, remaining := r.Limit.Limit.Limit(), r.Answer.Remaining
	s.Limit, s.Remaining = &limit, &remaining
	*s.RetryAfter = int64(r.Answer.RetryAfter)
	if r.Answer.RetryAfter == algorithms.Never {
		s.RetryAfter = nil
	}
	s.ResetAfter, s.Delay = int64(r.Answer.ResetAfter), int64(r.Answer.Delay)
	return s
}

// Writer takes the answers of a replay.
type Writer interface {
	Write(*Answer) error
	Flush() error
}

// JSON writes an object a line to w.
func JSON(w io.Writer) Writer {
	buffered := bufio.NewWriter(w)
	return jsonWriter{buffered, json.NewEncoder(buffered)}
}

type jsonWriter struct {
	out     *bufio.Writer
	encoder *json.Encoder
}

func (w jsonWriter) Write(a *Answer) error { return w.encoder.Encode(a) }
func (w jsonWriter) Flush() error          { return w.out.Flush() }

// Table sums up what each rule admitted and refused, and writes that to w.
func Table(w io.Writer) Writer { return &tableWriter{out: w, sums: map[ruleKey]*sum{}} }

type tableWriter struct {
	out  io.Writer
	sums map[ruleKey]*sum
}

type ruleKey struct{ domain, rule string }

type sum struct{ admitted, refused int }

func (w *tableWriter) Write(a *Answer) error {
	for _, s := range a.Statuses {
		key := ruleKey{s.domain, "(no rule)"}
		if s.Rule != nil {
			key.rule = *s.Rule
		}
		of := w.sums[key]
		if of == nil {
			of = &sum{}
			w.sums[key] = of
		}
		if s.Code == code(false) {
			of.admitted++
		} else {
			of.refused++
		}
	}
	return nil
}

func (w *tableWriter) Flush() error {
	table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "DOMAIN\tRULE\tADMITTED\tREFUSED")
	keys := slices.SortedFunc(maps.Keys(w.sums), func(a, b ruleKey) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.rule, b.rule))
	})
	for _, k := range keys {
		_, more := fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", telemetry.Printable(k.domain), telemetry.Printable(k.rule), w.sums[k].admitted, w.sums[k].refused)
		err = errors.Join(err, more)
	}
	return errors.Join(err, table.Flush())
}
