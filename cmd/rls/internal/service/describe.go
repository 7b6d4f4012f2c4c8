package service

import (
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/eb50146d/rls/cmd/rls/internal/codec"
	"github.com/eb50146d/rls/pkg/descriptors"
)

// describe is the request and the metadata of the rules that let it pass, as an
// encoded google.protobuf.Struct: what envoyproxy/ratelimit answers under
// RESPONSE_DYNAMIC_METADATA.
func (e *Evaluation) describe(q *codec.Request) ([]byte, error) {
	fields := map[string]any{"domain": text(q.Domain)}
	if q.HitsAddend != 0 {
		fields["hitsAddend"] = q.HitsAddend
	}
	list := make([]any, len(q.Descriptors))
	for i := range q.Descriptors {
		list[i] = describeOne(&q.Descriptors[i])
	}
	fields["descriptors"] = list
	if m := e.metadata(); len(m) > 0 {
		fields["metadata"] = m
	}
	s, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("describing the request: %w", err)
	}
	return proto.Marshal(s)
}

func describeOne(d *codec.Descriptor) map[string]any {
	entries := make([]any, len(d.Entries))
	for i, e := range d.Entries {
		entries[i] = text(e.Key) + "=" + text(e.Value)
	}
	fields := map[string]any{"entries": entries}
	if d.HasLimit {
		unit := strings.ToUpper(descriptors.Unit(d.Limit.Unit).String()) //nolint:gosec // the evaluation refuses others
		fields["limit"] = fmt.Sprintf("requests_per_unit:%d unit:%s", d.Limit.RequestsPerUnit, unit)
	}
	if d.HasHitsAddend {
		fields["hitsAddend"] = d.HitsAddend
	}
	return fields
}

// text is any bytes as a string that protobuf takes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// metadata merges the metadata of the rules that did not refuse, in order: the
// first to write a name wins, and maps are merged name by name.
func (e *Evaluation) metadata() map[string]any {
	merged := map[string]any{}
	for i := range e.Results {
		if r := &e.Results[i]; r.Rule != nil && !r.Over() {
			merge(merged, r.Rule.Metadata)
		}
	}
	return merged
}

func merge(to, from map[string]any) {
	for name, value := range from {
		have, known := to[name]
		if !known {
			to[name] = value
			continue
		}
		if into, ok := have.(map[string]any); ok {
			if m, ok := value.(map[string]any); ok {
				into = maps.Clone(into) // which is the rule's own
				merge(into, m)
				to[name] = into
			}
		}
	}
}
