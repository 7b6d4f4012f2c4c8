package descriptors

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// The types below are one file as it was written: every value with its place,
// nil where the file says nothing. compile.go checks them and makes rules.

type fileNode struct {
	name        string
	domain      *value[string]
	defaults    defaultsNode
	descriptors []*descriptorNode
}

type defaultsNode struct {
	algorithm, onError, charge *value[string]
	allowRefunds               *value[bool]
}

type descriptorNode struct {
	at                                         *yaml.Node
	key, value                                 *value[string]
	limit                                      *limitNode
	shadow, quota, detailedMetric, valueMetric *value[bool]
	descriptors                                []*descriptorNode
}

type limitNode struct {
	at                                                   *yaml.Node
	algorithm, variant, mode, align, unit, onError, name *value[string]
	requests, multiplier, burst, overdraft, bucketCount  *value[int64]
	unlimited                                            *value[bool]
	period, maxDelay                                     *value[time.Duration]
	adaptive                                             *adaptiveNode
}

type adaptiveNode struct {
	at                               *yaml.Node
	min, max, burstRatio, errorRatio *value[int64] // the ratios in thousandths
	target                           *value[string]
	latencyAt                        *yaml.Node
	quantile                         *value[string]
	threshold                        *value[time.Duration]
}

// The words of envoyproxy/ratelimit, which takes each of them at any level and
// ignores it where it means nothing; and ours, which are errors there.
var (
	theirWords = []string{
		"domain", "descriptors", "key", "value", "rate_limit", "unit", "requests_per_unit", "unlimited", "shadow_mode", "quota_mode",
		"name", "replaces", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
	}
	ourWords = []string{
		"defaults", "algorithm", "variant", "buckets", "mode", "align", "burst", "max_delay", "overdraft", "period", "unit_multiplier",
		"on_error", "charge", "allow_refunds", "adaptive", "min_limit", "max_limit", "target", "burst_ratio", "error_ratio", "latency",
		"quantile", "threshold",
	}
	// laterWords are theirs, too; this version refuses them rather than ignore them.
	laterWords = []string{"replaces", "share_threshold"}
)

var (
	algorithmWords = []string{"fixed_window", "sliding_window", "token_bucket", "leaky_bucket", "gcra", "adaptive"}
	onErrorWords   = []string{"error", "allow", "deny", "local"}
)

// maxUint32 is the largest number of a protobuf uint32.
const maxUint32 = 1<<32 - 1

// stranger reports a word that the mapping does not have.
func (r *reader) stranger(key *yaml.Node, path, what string, known []string) {
	switch word := key.Value; {
	case !isWord(key):
		r.errorf(key, path, "%s is no text, a key of %s must be one of %s", kindOf(key), what, oneOf(known))
	case slices.Contains(laterWords, word):
		r.errorf(key, path, "%s is not supported by this version of rls", word)
	case slices.Contains(theirWords, word):
		r.warnf(key, path, "%s means nothing in %s and is ignored", word, what)
	case slices.Contains(ourWords, word):
		r.errorf(key, path, "%s does not belong in %s, which takes %s", word, what, oneOf(known))
	default:
		if n := nearest(word, known); n != "" {
			r.errorf(key, path, "unknown word %q in %s, did you mean %s?", word, what, n)
			return
		}
		r.errorf(key, path, "unknown word %q in %s, which takes %s", word, what, oneOf(known))
	}
}

// read reads a whole file; nil if it holds no mapping.
func (r *reader) read(data []byte) *fileNode {
	before := len(*r.findings)
	root := r.document(data)
	if root == nil {
		if len(*r.findings) == before {
			r.errorf(nil, "", "the file is empty, must have a domain")
		}
		return nil
	}
	f := &fileNode{name: r.file}
	var rules *yaml.Node
	err := r.mapping(root, "", "a rule file", []field{
		r.text("", &f.domain, "domain"),
		{"defaults", func(n *yaml.Node) error { return r.defaults(n, &f.defaults) }},
		{"descriptors", func(n *yaml.Node) error { rules = n; return nil }},
	})
	if err == nil && rules != nil {
		f.descriptors, err = r.descriptors(rules, f.domain.or(""))
	}
	if err != nil {
		r.errorf(root, "", "%s", err)
		return nil
	}
	if root.Kind != yaml.MappingNode || f.domain != nil && f.domain.bad {
		return nil
	}
	if f.domain.or("") == "" {
		r.errorf(root, "", "domain is missing or empty, must be the domain that Envoy sends")
		return nil
	}
	return f
}

func (r *reader) defaults(n *yaml.Node, d *defaultsNode) error {
	const path = "defaults"
	return r.mapping(n, path, "defaults", []field{
		r.choice(path, &d.algorithm, "algorithm", algorithmWords...),
		r.choice(path, &d.onError, "on_error", onErrorWords...),
		r.choice(path, &d.charge, "charge", "all_or_nothing", "independent"),
		r.boolean(path, &d.allowRefunds, "allow_refunds"),
	})
}

func (r *reader) descriptors(n *yaml.Node, path string) ([]*descriptorNode, error) {
	var all []*descriptorNode
	err := r.list(n, path, "descriptors", func(item *yaml.Node) error {
		d, err := r.descriptor(item, path)
		if d != nil {
			all = append(all, d)
		}
		return err
	})
	return all, err
}

func (r *reader) descriptor(n *yaml.Node, parent string) (*descriptorNode, error) {
	n, err := r.follow(n)
	if err != nil {
		return nil, err
	}
	d := &descriptorNode{at: n}
	var limit, children *yaml.Node
	err = r.mapping(n, parent, "a descriptor", []field{
		r.text(parent, &d.key, "key"),
		r.text(parent, &d.value, "value"),
		{"rate_limit", func(n *yaml.Node) error { limit = n; return nil }},
		{"descriptors", func(n *yaml.Node) error { children = n; return nil }},
		r.boolean(parent, &d.shadow, "shadow_mode"),
		r.boolean(parent, &d.quota, "quota_mode"),
		r.boolean(parent, &d.detailedMetric, "detailed_metric"),
		r.boolean(parent, &d.valueMetric, "value_to_metric"),
		{"metadata", func(*yaml.Node) error { return nil }},
	})
	if err != nil || n.Kind != yaml.MappingNode {
		return nil, err
	}
	path := joinPath(parent, d.composite())
	if limit != nil {
		if d.limit, err = r.limit(limit, path); err != nil {
			return nil, err
		}
	}
	if children != nil {
		d.descriptors, err = r.descriptors(children, path)
	}
	return d, err
}

func (r *reader) limit(n *yaml.Node, path string) (*limitNode, error) {
	n, err := r.follow(n)
	if err != nil || isNull(n) {
		return nil, err
	}
	l := &limitNode{at: n}
	err = r.mapping(n, path, "rate_limit", []field{
		r.choice(path, &l.algorithm, "algorithm", algorithmWords...),
		r.count(path, &l.requests, "requests_per_unit", 0, maxUint32),
		r.text(path, &l.unit, "unit"),
		r.count(path, &l.multiplier, "unit_multiplier", 1, maxUint32),
		r.duration(path, &l.period, "period"),
		r.count(path, &l.burst, "burst", 1, maxUint32),
		r.count(path, &l.overdraft, "overdraft", 0, maxUint32),
		r.text(path, &l.name, "name"),
		r.boolean(path, &l.unlimited, "unlimited"),
		r.choice(path, &l.onError, "on_error", onErrorWords...),
		r.choice(path, &l.variant, "variant", "counter", "log"),
		r.count(path, &l.bucketCount, "buckets", 1, 64),
		r.choice(path, &l.mode, "mode", "meter", "queue"),
		r.duration(path, &l.maxDelay, "max_delay"),
		r.choice(path, &l.align, "align", "epoch", "first"),
		{"adaptive", func(n *yaml.Node) error { l.adaptive = &adaptiveNode{at: n}; return r.adaptive(n, path, l.adaptive) }},
	})
	if n.Kind != yaml.MappingNode {
		return nil, err
	}
	return l, err
}

func (r *reader) adaptive(n *yaml.Node, path string, a *adaptiveNode) error {
	return r.mapping(n, path, "adaptive", []field{
		r.count(path, &a.min, "min_limit", 1, maxUint32),
		r.count(path, &a.max, "max_limit", 1, maxUint32),
		r.text(path, &a.target, "target"),
		r.thousandths(path, &a.burstRatio, "burst_ratio", 1000),
		r.thousandths(path, &a.errorRatio, "error_ratio", 1),
		{"latency", func(n *yaml.Node) error {
			a.latencyAt = n
			return r.mapping(n, path, "latency", []field{
				scalar(r, path, &a.quantile, "quantile", parseQuantile),
				r.duration(path, &a.threshold, "threshold"),
			})
		}},
	})
}

func parseQuantile(n *yaml.Node) (quantile, wanted string) {
	switch n.Value {
	case "0.5", "0.50", ".5":
		return "0.5", ""
	case "0.99", ".99":
		return "0.99", ""
	default:
		return "", "0.5 or 0.99"
	}
}

// composite is the text under which a level knows a rule: its key, and its value
// behind an underscore if it has one.
func (d *descriptorNode) composite() string {
	if v := d.value.or(""); v != "" {
		return d.key.or("") + "_" + v
	}
	return d.key.or("")
}

func joinPath(parent, composite string) string {
	if parent == "" {
		return composite
	}
	return parent + "." + composite
}
