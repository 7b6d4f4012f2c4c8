// Package replay evaluates recorded or invented traffic with the clock of the
// trace, so that anybody can check what a rule does.
package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// line is one line of a trace: a request, or a change of an adaptive limit.
type line struct {
	Time        *int64           `json:"t_ns"` // ns since the epoch
	Domain      string           `json:"domain"`
	Descriptors []descriptorLine `json:"descriptors"`
	HitsAddend  uint32           `json:"hits_addend"`
	SetLimit    *setLimit        `json:"set_limit"`
}

type descriptorLine struct {
	Entries    []entryLine `json:"entries"`
	Limit      *limitLine  `json:"limit"`
	HitsAddend *uint64     `json:"hits_addend"`
	Negative   bool        `json:"is_negative_hits"`
}

type entryLine struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type limitLine struct {
	RequestsPerUnit uint32  `json:"requests_per_unit"`
	Unit            string  `json:"unit"`
	UnitMultiplier  *uint32 `json:"unit_multiplier"`
}

type setLimit struct {
	Rule            string `json:"rule"`
	Domain          string `json:"domain"` // needed where two domains have a rule of that name
	RequestsPerUnit *int64 `json:"requests_per_unit"`
}

func parse(text []byte) (*line, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	l := &line{}
	if err := decoder.Decode(l); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s is a %s, must be %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value, want one JSON object a line")
	}
	switch {
	case l.Time == nil || *l.Time < 0:
		return nil, errors.New("t_ns is missing or negative, must be nanoseconds since the epoch")
	case l.SetLimit != nil && (l.Domain != "" || l.Descriptors != nil):
		return nil, errors.New("a line is either a request or a set_limit")
	}
	return l, nil
}

// request is the line in the form that arrives from Envoy.
func (l *line) request() (*codec.Request, error) {
	q := &codec.Request{Domain: l.Domain, HitsAddend: l.HitsAddend}
	for i, d := range l.Descriptors {
		to := codec.Descriptor{Negative: d.Negative, HasHitsAddend: d.HitsAddend != nil, HasLimit: d.Limit != nil}
		for _, e := range d.Entries {
			to.Entries = append(to.Entries, descriptors.Entry{Key: e.Key, Value: e.Value})
		}
		if d.HitsAddend != nil {
			to.HitsAddend = *d.HitsAddend
		}
		if d.Limit != nil {
			unit, ok := descriptors.ParseUnit(d.Limit.Unit)
			if !ok {
				return nil, fmt.Errorf("descriptors[%d]: limit.unit is %q, must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR", i, d.Limit.Unit)
			}
			to.Limit = codec.Override{RequestsPerUnit: d.Limit.RequestsPerUnit, Unit: int32(unit)}
			if d.Limit.UnitMultiplier != nil {
				to.Limit.HasUnitMultiplier, to.Limit.UnitMultiplier = true, *d.Limit.UnitMultiplier
			}
		}
		q.Descriptors = append(q.Descriptors, to)
	}
	return q, nil
}
