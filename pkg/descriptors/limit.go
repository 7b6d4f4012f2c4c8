package descriptors

import (
	"strconv"
	"strings"
	"time"
	"unicode"

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
		Index: len(c.tree.Rules), Domain: c.domain.Name, Path: at.path, Entries: at.entries, Name: l.name.or(""), File: c.reader.file, Line: d.at.Line,
		Shadow: d.shadow.or(false), Quota: d.quota.or(false), OnError: at.defaults.onError, Metadata: d.metadata,
		AlgorithmNamed: l.algorithm != nil || at.defaults.named, marks: at.marks, detailed: d.detailedMetric.or(false),
	}
	r.setStatKey()
	if l.onError != nil {
		r.OnError = onErrors[l.onError.is]
	}
	c.domain.names[r.Name] = true
	c.replaces(r, l)
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

func (c *compiler) unlimited(l *limitNode, path string) {
	if _, ok := ParseUnit(l.unit.or("")); ok {
		c.reader.errorf(unlimitedUnit, l.unit.at, path, "an unlimited rule takes no unit")
	} else if l.unit != nil {
		c.reader.warnf(ignoredSetting, l.unit.at, path, "unit means nothing to an unlimited rule and is ignored")
	}
	if l.requests != nil {
		c.reader.warnf(ignoredSetting, l.requests.at, path, "requests_per_unit means nothing to an unlimited rule and is ignored")
	}
	for _, s := range l.settings() {
		if s.at != nil {
			c.reader.errorf(misplacedSetting, s.at, path, "an unlimited rule takes no %s", s.word)
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
	if l.requests == nil && !l.odd {
		c.reader.warnf(noRequests, l.at, r.Path, "requests_per_unit is missing, so this rule denies everything; write 0 if that is meant")
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
				c.reader.errorf(conflict, other.at, r.Path, "a rule has either period or %s", other.word)
				return 0, false
			}
		}
		r.Unit, r.UnitMultiplier = largestUnit(l.period.is)
		return l.period.is, !l.period.bad
	}
	unit, ok := ParseUnit(l.unit.or(""))
	if !ok {
		c.noUnit(l, r.Path)
		return 0, false
	}
	times := time.Duration(l.multiplier.or(1))
	if times > algorithms.MaxWindow/unit.Duration() {
		c.reader.errorf(invalidNumber, l.multiplier.node(), r.Path, "unit_multiplier is %d, a window is at most 366 days", times)
		return 0, false
	}
	r.Unit, r.UnitMultiplier = unit, uint32(times) //nolint:gosec // read as at most 2^32-1
	return times * unit.Duration(), true           //nolint:durationcheck // times is a number
}

func (c *compiler) noUnit(l *limitNode, path string) {
	at, text, word := l.at, "unit is missing", l.unit.or("")
	if l.unit != nil {
		if l.unit.bad {
			return
		}
		at, text = l.unit.at, "unit is "+strconv.Quote(word)
	}
	f := c.reader.errorf(invalidUnit, at, path, "%s", text)
	f.Wanted, f.Nearest = oneOf(unitNames[1:])+", or set a period such as 5m", nearest(word, unitNames[1:])
}

const (
	maxTarget    = 256             // bytes of the name of a target, which every report has
	maxThreshold = 2 * time.Minute // the longest latency that is told apart is 126 s, and must exceed it
)

// isTarget says whether reports can be about a name: the access log lists names with
// commas between, and spaces do not count there.
func isTarget(name string) bool {
	odd := func(r rune) bool { return r == ',' || !unicode.IsPrint(r) }
	return len(name) <= maxTarget && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, odd)
}

func (c *compiler) adaptive(r *Rule, l *limitNode, p *algorithms.Params) bool {
	a := l.adaptive
	if a == nil || a.min == nil || a.max == nil {
		c.noBounds(l, r.Path)
		return false
	}
	if a.latencyAt != nil && a.threshold == nil {
		c.reader.errorf(incompleteRule, a.latencyAt, r.Path, "latency needs a threshold; without latency the baseline is learned")
		return false
	}
	p.MinLimit, p.MaxLimit = a.min.is, a.max.is
	p.BurstNum, p.BurstDen = a.burstRatio.or(1000), 1000
	p.Overdraft = l.overdraft.or(0)
	r.Adaptive = &Adaptive{Target: c.target(r, a), ErrorRatio: float64(a.errorRatio.or(50)) / 1000, Threshold: a.threshold.or(0)}
	if a.threshold != nil {
		r.Adaptive.Quantile = 0.99
		if a.quantile.or("") == "0.5" {
			r.Adaptive.Quantile = 0.5
		}
	}
	return true
}

// noBounds reports an adaptive rule without a bound, unless a word was refused that
// may stand for it.
func (c *compiler) noBounds(l *limitNode, path string) {
	a := l.adaptive
	switch {
	case l.odd || a != nil && a.odd:
	case a == nil:
		c.reader.errorf(incompleteRule, l.at, path, "an adaptive rule needs adaptive: {min_limit: …, max_limit: …}")
	case a.min == nil && a.max == nil:
		c.reader.errorf(incompleteRule, a.at, path, "adaptive needs a min_limit and a max_limit")
	case a.min == nil:
		c.reader.errorf(incompleteRule, a.at, path, "adaptive needs a min_limit beside its max_limit")
	default:
		c.reader.errorf(incompleteRule, a.at, path, "adaptive needs a max_limit beside its min_limit")
	}
}

// target is what reports call the service of an adaptive rule.
func (c *compiler) target(r *Rule, a *adaptiveNode) string {
	target, text, at := a.target.or(""), "target is %q", a.target.node()
	if target == "" {
		target, text, at = r.Label(), "target is not set, so it is the rule's name or path, %q", a.at
	}
	if !isTarget(target) {
		c.reader.errorf(invalidName, at, r.Path, text, target).Wanted = "at most " + strconv.Itoa(maxTarget) +
			" bytes of printable text without a comma or a space at an end, since answers list targets"
	}
	return target
}
