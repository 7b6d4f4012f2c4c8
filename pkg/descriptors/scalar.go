package descriptors

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// value is a scalar as it was written, and where. A nil *value was not written,
// or is empty; a bad one is no use and has been reported.
type value[T any] struct {
	is  T
	at  *yaml.Node
	bad bool
}

// or is the value or, where it is of no use, another.
func (v *value[T]) or(other T) T {
	if v == nil || v.bad {
		return other
	}
	return v.is
}

// node is where the value was written; nil where it was not.
func (v *value[T]) node() *yaml.Node {
	if v == nil {
		return nil
	}
	return v.at
}

// fault is why a scalar cannot be read; the zero fault is none.
type fault struct {
	class           Class
	wanted, nearest string
}

// scalar reads the single value behind a word by a parser.
func scalar[T any](m *members, word string, parse func(*yaml.Node) (T, fault)) *value[T] {
	n := m.value(word)
	if n == nil {
		return nil
	}
	var v *value[T]
	m.reader.enter(n, func(n *yaml.Node) {
		if isNull(n) {
			return
		}
		v = &value[T]{at: n, bad: true}
		wrong := fault{class: typeMismatch, wanted: "a single value"}
		if n.Kind == yaml.ScalarNode {
			v.is, wrong = parse(n)
		}
		if wrong == (fault{}) {
			v.bad = false
			return
		}
		m.reader.bad[n] = true
		f := m.reader.errorf(wrong.class, n, m.path, "%s is %s", word, describe(n))
		f.Wanted, f.Nearest = wrong.wanted, wrong.nearest
	})
	return v
}

// mistyped is the fault of a value that is not of the wanted type.
func mistyped(n *yaml.Node, wanted string) fault {
	if typeOf(n) == floatType {
		return fault{class: badScalar, wanted: wanted}
	}
	return fault{class: typeMismatch, wanted: wanted}
}

// parseText takes numbers, booleans and dates as they are written. A number with
// a point is refused: whether 1.50 means 1.5 is not for us to guess.
func parseText(n *yaml.Node) (string, fault) {
	switch typeOf(n) {
	case floatType:
		return "", fault{class: badScalar, wanted: "text; put it in quotes"}
	case binaryType:
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return "", fault{class: badScalar, wanted: "base64"}
		}
		return string(data), fault{}
	default:
		return n.Value, fault{}
	}
}

func (m *members) text(word string) *value[string] { return scalar(m, word, parseText) }

// choice reads one of a few words.
func (m *members) choice(word string, choices []string) *value[string] {
	return scalar(m, word, func(n *yaml.Node) (string, fault) {
		if slices.Contains(choices, n.Value) {
			return n.Value, fault{}
		}
		return "", fault{invalidChoice, oneOf(choices), nearest(n.Value, choices)}
	})
}

// count reads an integer in [low, high], in any of YAML's notations.
func (m *members) count(word string, low, high int64) *value[int64] {
	wanted := "a whole number from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
	return scalar(m, word, func(n *yaml.Node) (int64, fault) {
		v, err := parseInt(n.Value)
		switch {
		case typeOf(n) == textType && err == nil:
			return 0, mistyped(n, wanted+", without quotes")
		case typeOf(n) != intType:
			return 0, mistyped(n, wanted)
		}
		if err != nil || v < low || v > high {
			return 0, fault{class: typeMismatch, wanted: wanted}
		}
		return v, fault{}
	})
}

func (m *members) boolean(word string) *value[bool] {
	return scalar(m, word, func(n *yaml.Node) (bool, fault) {
		b, ok := booleans[n.Value]
		if !ok || typeOf(n) != boolType {
			return false, mistyped(n, "true or false")
		}
		return b, fault{}
	})
}

// duration reads a positive one, in whole milliseconds; longest is how most is
// written.
func (m *members) duration(word string, most time.Duration, longest string) *value[time.Duration] {
	return scalar(m, word, func(n *yaml.Node) (time.Duration, fault) {
		d, err := parsePeriod(n.Value)
		var wanted string
		switch {
		case err != nil:
			wanted = "a duration like 250ms, 30s, 5m, 12h, 7d or 2w"
		case d <= 0:
			wanted = "longer than nothing"
		case d > most:
			wanted = "at most " + longest
		case d%time.Millisecond != 0:
			wanted = "whole milliseconds"
		default:
			return d, fault{}
		}
		return 0, fault{class: invalidPeriod, wanted: wanted}
	})
}

// thousandths reads a positive decimal of at most three digits after the point,
// exactly, as a number of thousandths; upTo says what most is.
func (m *members) thousandths(word string, most int64, upTo string) *value[int64] {
	wanted := "a number above 0, " + upTo + ", with at most three digits after the point"
	return scalar(m, word, func(n *yaml.Node) (int64, fault) {
		whole, part, _ := strings.Cut(n.Value, ".")
		if len(part) > 3 || len(whole) > 9 || whole == "" || strings.Trim(whole+part, "0123456789") != "" {
			return 0, fault{class: typeMismatch, wanted: wanted}
		}
		v, err := strconv.ParseInt(whole+part+strings.Repeat("0", 3-len(part)), 10, 64)
		if err != nil || v < 1 || v > most {
			return 0, fault{class: typeMismatch, wanted: wanted}
		}
		return v, fault{}
	})
}
