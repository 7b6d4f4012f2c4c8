package integration

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

func wrap(n uint64) *wrapperspb.UInt64Value { return wrapperspb.UInt64(n) }

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

// canonical is a value as JSON, in which 1 and 1.0 are the same.
func canonical(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
