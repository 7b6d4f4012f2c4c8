package descriptors

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// What follows loads, but does not do what it seems to.

// largeLogLimit is the number of hits above which a log's memory for one key is
// worth a word: 8 bytes each.
const largeLogLimit = 10_000

// limited is a rule with rules below it.
type limited struct {
	rule   *Rule
	at     *yaml.Node
	warned bool
}

func (c *compiler) lint(d *descriptorNode, r *Rule, at place) {
	c.mode("shadow_mode", d.shadow, d, at)
	c.mode("quota_mode", d.quota, d, at)
	if v := d.value.or(""); isPathKey(d.key.or("")) && v != "" && !strings.Contains(v, "*") && (d.limit != nil || len(d.descriptors) > 0) {
		c.reader.warnf(exactPath, d.value.at, at.path, "a request for %s?x=1 has another value and passes by this rule; let the value end in * to catch it", v)
	}
	if r == nil || r.Limit == nil {
		return
	}
	if r.Limit.Kind() == algorithms.SlidingLog && r.Limit.Limit() > largeLogLimit {
		c.reader.warnf(largeLog, d.limit.requests.at, at.path, "a log keeps 8 bytes per hit, up to %d KiB for each key", r.Limit.Limit()*8/1024)
	}
	c.adaptiveRule(d, r, at)
	c.parent(r, at.above)
}

func (c *compiler) adaptiveRule(d *descriptorNode, r *Rule, at place) {
	if r.Adaptive == nil {
		return
	}
	if r.ManyKeys() {
		c.reader.warnf(adaptivePerKey, d.limit.at, at.path,
			"each value has the adaptive limit for itself; to protect %s as a whole give the descriptor a value, or a pattern with share_threshold", r.Adaptive.Target)
	}
	a := d.limit.adaptive
	switch least, most := r.Limit.Bounds(); {
	case least == most:
		c.reader.warnf(adaptiveStill, a.max.at, at.path, "max_limit is min_limit, so the limit never moves")
	case float64(most) < r.Limit.Window().Seconds():
		c.reader.warnf(adaptiveRare, a.max.at, at.path, "max_limit is less than one hit a second: so few answers tell nothing, and the limit hardly moves")
	}
	if ratio := a.burstRatio.or(0); ratio > 1000 {
		c.reader.warnf(adaptiveBurst, a.burstRatio.at, at.path, "a burst_ratio above 1 lets more than a whole unit's hits pass at once; a tenth of them is 0.1")
	}
}

func (c *compiler) mode(word string, v *value[bool], d *descriptorNode, at place) {
	if v.or(false) && d.limit == nil {
		c.reader.warnf(modeNoLimit, v.at, at.path, "%s acts on this descriptor's own rate_limit, there is none", word)
	}
}

func isPathKey(key string) bool { return strings.EqualFold(strings.TrimPrefix(key, ":"), "path") }

// parent warns of a limit above a smaller one, since it is likely meant to hold
// for the sum of those below. The other way round it could not matter.
func (c *compiler) parent(r *Rule, above *limited) {
	if above == nil || above.warned || r.Limit.Kind() == algorithms.Deny || rate(above.rule) <= rate(r) {
		return
	}
	above.warned = true
	c.reader.warnf(parentLimit, above.at, above.rule.Path,
		"this limit is reached only by a descriptor of exactly these entries, it does not hold for the rules below; Envoy has to send both descriptors")
}

// rate is a rule's hits per nanosecond.
func rate(r *Rule) float64 { return float64(r.Limit.Limit()) / float64(r.Limit.Window()) }

// unreachable warns of a rule that others of its level leave nothing for. A
// pattern that matches another's text, in which a * is as good as any character
// that it does not name, matches all that the other does.
func (c *compiler) unreachable(l *level, d *descriptorNode, parent place) {
	if l.wild == nil {
		return
	}
	text := d.composite()
	switch {
	case strings.Contains(text, "*"):
	case d.value.or("") != "":
		return // an exact value goes first
	default:
		text += "_*" // any entry with this key
	}
	found := l.wild.find([]byte(text)).best
	if found == nil || found.node == l.nodes[d.composite()] {
		return
	}
	c.reader.warnf(unreachable, d.at, parent.below(d).path, "this rule is never reached: the pattern in line %d of %s goes before it and matches all of its entries",
		found.node.line, found.node.file)
}
