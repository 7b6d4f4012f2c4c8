package descriptors

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// value is a scalar as it was written, and where. A nil *value was not written; a
// bad one was, but is no use and has been reported.
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

// scalar makes a field's reader out of a parser of scalars.
func scalar[T any](r *reader, path string, to **value[T], word string, parse func(*yaml.Node) (T, string)) field {
	return field{word, func(n *yaml.Node) error {
		n, err := r.follow(n)
		if err != nil {
			return err
		}
		*to = &value[T]{at: n, bad: true}
		if n.Kind != yaml.ScalarNode {
			r.errorf(n, path, "%s is %s, must be a single value", word, kindOf(n))
			return nil
		}
		v, wanted := parse(n)
		if wanted != "" {
			r.errorf(n, path, "%s is %s, must be %s", word, kindOf(n), wanted)
			return nil
		}
		*to = &value[T]{is: v, at: n}
		return nil
	}}
}

// parseText takes numbers, booleans and dates as they are written. A number with
// a point is refused: whether 1.50 means 1.5 is not for us to guess.
func parseText(n *yaml.Node) (text, wanted string) {
	switch n.ShortTag() {
	case "!!null":
		return "", ""
	case "!!float", "!!binary":
		return "", "text; put it in quotes"
	default:
		return n.Value, ""
	}
}

func (r *reader) text(path string, to **value[string], word string) field {
	return scalar(r, path, to, word, parseText)
}

// choice reads one of a few words.
func (r *reader) choice(path string, to **value[string], word string, choices ...string) field {
	return scalar(r, path, to, word, func(n *yaml.Node) (string, string) {
		for _, c := range choices {
			if n.Value == c {
				return c, ""
			}
		}
		return "", oneOf(choices) + hint(n.Value, choices)
	})
}

// count reads an integer in [low, high], in any of YAML's notations.
func (r *reader) count(path string, to **value[int64], word string, low, high int64) field {
	wanted := "a whole number from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
	return scalar(r, path, to, word, func(n *yaml.Node) (int64, string) {
		if n.ShortTag() != "!!int" || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			return 0, wanted
		}
		v, err := strconv.ParseInt(strings.TrimPrefix(n.Value, "+"), 0, 64)
		if err != nil || v < low || v > high {
			return 0, wanted
		}
		return v, ""
	})
}

var booleans = map[string]bool{"true": true, "yes": true, "on": true, "y": true, "false": false, "no": false, "off": false, "n": false}

func (r *reader) boolean(path string, to **value[bool], word string) field {
	return scalar(r, path, to, word, func(n *yaml.Node) (bool, string) {
		b, ok := booleans[strings.ToLower(n.Value)]
		if !ok || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			return false, "true or false"
		}
		return b, ""
	})
}

func (r *reader) duration(path string, to **value[time.Duration], word string) field {
	return scalar(r, path, to, word, func(n *yaml.Node) (time.Duration, string) {
		d, err := parsePeriod(n.Value)
		switch {
		case err != nil:
			return 0, "a duration like 30s, 5m, 12h, 7d or 2w"
		case d <= 0:
			return 0, "longer than nothing"
		case d > algorithms.MaxWindow:
			return 0, "at most 366d"
		case d%time.Millisecond != 0:
			return 0, "whole milliseconds"
		}
		return d, ""
	})
}

// thousandths reads a positive decimal of at most three digits after the point,
// exactly, as a number of thousandths.
func (r *reader) thousandths(path string, to **value[int64], word string, high int64) field {
	wanted := "a number above 0, at most " + strconv.FormatInt(high, 10) + ", with at most three digits after the point"
	return scalar(r, path, to, word, func(n *yaml.Node) (int64, string) {
		whole, part, _ := strings.Cut(n.Value, ".")
		if len(part) > 3 || len(whole) > 9 || whole == "" || strings.Trim(whole+part, "0123456789") != "" {
			return 0, wanted
		}
		v, err := strconv.ParseInt(whole+part+strings.Repeat("0", 3-len(part)), 10, 64)
		if err != nil || v < 1 || v > high*1000 {
			return 0, wanted
		}
		return v, ""
	})
}
