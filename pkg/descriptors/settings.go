package descriptors

import (
	"errors"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// setting is a word that only some algorithms take.
type setting struct {
	word string
	at   *yaml.Node // nil where it is not written
	only []string
}

func (l *limitNode) settings() []setting {
	s := []setting{
		{"algorithm", l.algorithm.node(), algorithmWords},
		{"period", l.period.node(), algorithmWords},
		{"unit_multiplier", l.multiplier.node(), algorithmWords},
		{"overdraft", l.overdraft.node(), algorithmWords},
		{"burst", l.burst.node(), []string{"token_bucket", "leaky_bucket", "gcra"}},
		{"variant", l.variant.node(), []string{"sliding_window"}},
		{"buckets", l.bucketCount.node(), []string{"sliding_window"}},
		{"mode", l.mode.node(), []string{"leaky_bucket"}},
		{"max_delay", l.maxDelay.node(), []string{"leaky_bucket"}},
		{"align", l.align.node(), []string{"fixed_window"}},
	}
	if l.adaptive != nil {
		s = append(s, setting{"adaptive", l.adaptive.at, []string{"adaptive"}})
	}
	return s
}

// fitting reports every setting that the rule's algorithm does not take.
func (c *compiler) fitting(l *limitNode, path, algorithm string) bool {
	ok := true
	refuse := func(at *yaml.Node, format string, args ...any) {
		c.reader.errorf(misplacedSetting, at, path, format, args...)
		ok = false
	}
	for _, s := range l.settings() {
		switch {
		case s.at == nil || slices.Contains(s.only, algorithm):
		case s.word == "burst" && algorithm == "adaptive":
			refuse(s.at, "burst means nothing to adaptive, set adaptive.burst_ratio")
		case l.algorithm == nil:
			refuse(s.at, "%s means nothing to %s, which this rule has since it names no algorithm; it is for %s", s.word, algorithm, oneOf(s.only))
		default:
			refuse(s.at, "%s means nothing to %s, it is for %s", s.word, algorithm, oneOf(s.only))
		}
	}
	if l.bucketCount != nil && l.variant.or("") == "log" {
		refuse(l.bucketCount.at, "buckets means nothing to variant log, it is for variant counter")
	}
	if l.maxDelay != nil && algorithm == "leaky_bucket" && l.mode.or("meter") == "meter" {
		refuse(l.maxDelay.at, "max_delay means nothing to mode meter, it is for mode queue")
	}
	return ok
}

// refused reports what algorithms.New says of a rule, each fault where it is
// written.
func (c *compiler) refused(err error, l *limitNode, path string) {
	var faults algorithms.ParamErrors
	if !errors.As(err, &faults) {
		return
	}
	reported := map[string]bool{}
	for _, f := range faults {
		if reported[f.Field] {
			continue
		}
		reported[f.Field] = true
		word, at := l.written(f.Field)
		switch {
		case at == nil:
			at = l.at
		case c.reader.bad[at]:
			continue
		}
		c.reader.errorf(invalidNumber, at, path, "%s %s", word, f.Text)
	}
}

// written is a parameter's word in a rule file, and where it is written.
func (l *limitNode) written(field string) (string, *yaml.Node) {
	a := l.adaptive
	if a == nil {
		a = &adaptiveNode{}
	}
	switch field {
	case "limit":
		return "requests_per_unit", l.requests.node()
	case "window":
		if l.period != nil {
			return "period", l.period.at
		}
		return "unit", l.unit.node()
	case "burst":
		return field, l.burst.node()
	case "overdraft":
		return field, l.overdraft.node()
	case "buckets":
		return field, l.bucketCount.node()
	case "max_delay":
		return field, l.maxDelay.node()
	case "min_limit":
		return field, a.min.node()
	case "max_limit":
		return field, a.max.node()
	case "burst_ratio":
		return field, a.burstRatio.node()
	default:
		return field, nil
	}
}
