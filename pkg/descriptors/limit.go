package descriptors

import (
	"errors"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// defaults is what rules of a file take where they say nothing.
type defaults struct {
	algorithm string
	named     bool // the file names it
	onError   OnError
}

func (d *defaultsNode) checked() defaults {
	return defaults{d.algorithm.or("fixed_window"), d.algorithm != nil, onErrors[d.onError.or("error")]}
}

var onErrors = map[string]OnError{"error": OnErrorFail, "allow": OnErrorAllow, "deny": OnErrorDeny, "local": OnErrorLocal}

// rule makes a rule of a rate_limit; nil if it has an error.
func (c *compiler) rule(d *descriptorNode, at place) *Rule {
	l := d.limit
	r := &Rule{
		Index: len(c.tree.Rules), Domain: c.domain, Path: at.path, Entries: at.entries, Name: l.name.or(""), File: c.reader.file, Line: d.at.Line,
		Shadow: d.shadow.or(false), Quota: d.quota.or(false), OnError: at.defaults.onError,
		AlgorithmNamed: l.algorithm != nil || at.defaults.named,
	}
	if l.onError != nil {
		r.OnError = onErrors[l.onError.is]
	}
	if l.unlimited.or(false) {
		r.Unlimited = true
		c.unlimited(l, at.path)
	} else if !c.limit(r, l, at.defaults) {
		return nil
	}
	c.named(r, l)
	c.tree.Rules = append(c.tree.Rules, r)
	return r
}

// named warns of a name used twice, and refuses it for adaptive rules, whose
// limits are set by name.
func (c *compiler) named(r *Rule, l *limitNode) {
	label := r.Label()
	other := c.names[label]
	c.names[label] = r
	switch {
	case other == nil:
	case other.Adaptive != nil && r.Adaptive != nil:
		c.reader.errorf(l.at, r.Path, "two adaptive rules are called %q, the other is in line %d", label, other.Line)
	default:
		c.reader.warnf(l.at, r.Path, "the rule in line %d is called %q, too; metrics will not tell them apart", other.Line, label)
	}
}

func (c *compiler) unlimited(l *limitNode, path string) {
	if _, ok := ParseUnit(l.unit.or("")); ok {
		c.reader.errorf(l.unit.at, path, "an unlimited rule takes no unit")
	}
	for _, s := range l.settings() {
		if s.at != nil {
			c.reader.errorf(s.at, path, "an unlimited rule takes no %s", s.word)
		}
	}
}

// limit fills in a rule's numbers and reports whether they can be.
func (c *compiler) limit(r *Rule, l *limitNode, def defaults) bool {
	algorithm := l.algorithm.or(def.algorithm)
	window, ok := c.window(r, l)
	if l.algorithm != nil && l.algorithm.bad || !c.fitting(l, r.Path, algorithm) || !ok {
		return false
	}
	if l.requests == nil {
		c.reader.warnf(l.at, r.Path, "requests_per_unit is missing, so this rule denies everything; write 0 if that is meant")
	}
	r.RequestsPerUnit = uint32(l.requests.or(0)) //nolint:gosec // read as at most 2^32-1
	p := algorithms.Params{Kind: kind(algorithm, l), Limit: l.requests.or(0), Window: window}
	switch {
	case algorithm == "adaptive":
		if !c.adaptive(r, l, &p) {
			return false
		}
	case p.Limit == 0:
		p.Kind = algorithms.Deny
	default:
		p.Burst, p.Overdraft, p.Buckets = l.burst.or(0), l.overdraft.or(0), l.bucketCount.or(0)
		p.MaxDelay, p.FirstHit = l.maxDelay.or(0), l.align.or("epoch") == "first"
	}
	r.params = p
	var err error
	r.Limit, err = algorithms.New(p)
	c.refused(err, l, r.Path)
	return err == nil
}

// kind is the algorithm with its variant.
func kind(algorithm string, l *limitNode) algorithms.Kind {
	switch algorithm {
	case "sliding_window":
		if l.variant.or("counter") == "log" {
			return algorithms.SlidingLog
		}
		return algorithms.SlidingCounter
	case "token_bucket":
		return algorithms.TokenBucket
	case "leaky_bucket":
		if l.mode.or("meter") == "queue" {
			return algorithms.LeakyQueue
		}
		return algorithms.LeakyMeter
	case "gcra":
		return algorithms.GCRA
	case "adaptive":
		return algorithms.Adaptive
	default:
		return algorithms.FixedWindow
	}
}

// window is a rule's window, from unit and unit_multiplier or from period.
func (c *compiler) window(r *Rule, l *limitNode) (time.Duration, bool) {
	if l.period != nil {
		for _, other := range []setting{{word: "unit", at: l.unit.node()}, {word: "unit_multiplier", at: l.multiplier.node()}} {
			if other.at != nil {
				c.reader.errorf(other.at, r.Path, "a rule has either period or %s", other.word)
				return 0, false
			}
		}
		r.Unit, r.UnitMultiplier = largestUnit(l.period.is)
		return l.period.is, !l.period.bad
	}
	at := l.unit.node()
	if at == nil {
		at = l.at
	}
	unit, ok := ParseUnit(l.unit.or(""))
	if !ok {
		word := l.unit.or("")
		c.reader.errorf(at, r.Path, "unit is %q, must be %s%s, or set a period such as 5m", word, oneOf(unitNames[1:]), hint(word, unitNames[1:]))
		return 0, false
	}
	times := time.Duration(l.multiplier.or(1))
	if times > algorithms.MaxWindow/unit.Duration() {
		c.reader.errorf(l.multiplier.node(), r.Path, "unit_multiplier is %d, a window is at most 366 days", times)
		return 0, false
	}
	r.Unit, r.UnitMultiplier = unit, uint32(times) //nolint:gosec // read as at most 2^32-1
	return times * unit.Duration(), true
}

func (c *compiler) adaptive(r *Rule, l *limitNode, p *algorithms.Params) bool {
	a := l.adaptive
	if a == nil || a.min == nil || a.max == nil {
		at := l.at
		if a != nil {
			at = a.at
		}
		c.reader.errorf(at, r.Path, "an adaptive rule needs adaptive: {min_limit: …, max_limit: …}")
		return false
	}
	if a.latencyAt != nil && a.threshold == nil {
		c.reader.errorf(a.latencyAt, r.Path, "latency needs a threshold; without latency the baseline is learned")
		return false
	}
	p.MinLimit, p.MaxLimit = a.min.is, a.max.is
	p.BurstNum, p.BurstDen = a.burstRatio.or(1000), 1000
	p.Overdraft = l.overdraft.or(0)
	r.Adaptive = &Adaptive{Target: a.target.or(""), ErrorRatio: float64(a.errorRatio.or(50)) / 1000, Threshold: a.threshold.or(0)}
	if r.Adaptive.Target == "" {
		r.Adaptive.Target = r.Label()
	}
	if a.threshold != nil {
		r.Adaptive.Quantile = 0.99
		if a.quantile.or("") == "0.5" {
			r.Adaptive.Quantile = 0.5
		}
	}
	return true
}

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
		c.reader.errorf(at, path, format, args...)
		ok = false
	}
	for _, s := range l.settings() {
		switch {
		case s.at == nil || slices.Contains(s.only, algorithm):
		case s.word == "burst" && algorithm == "adaptive":
			refuse(s.at, "burst means nothing to adaptive, set adaptive.burst_ratio")
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
		if at == nil {
			at = l.at
		}
		c.reader.errorf(at, path, "%s %s", word, f.Text)
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
