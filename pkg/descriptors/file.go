package descriptors

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// The types below are one file as it was written: every value with its place,
// nil where the file says nothing. compile.go checks them and makes rules.

type fileNode struct {
	domain      *value[string]
	defaults    defaultsNode
	descriptors []*descriptorNode
}

type defaultsNode struct {
	algorithm, onError, charge *value[string]
	allowRefunds               *value[bool]
}

type descriptorNode struct {
	at                                                *yaml.Node
	key, value                                        *value[string]
	limit                                             *limitNode
	shadow, quota, detailedMetric, valueMetric, share *value[bool]
	metadata                                          map[string]any
	descriptors                                       []*descriptorNode
}

type limitNode struct {
	at                                                   *yaml.Node
	algorithm, variant, mode, align, unit, onError, name *value[string]
	requests, multiplier, burst, overdraft, bucketCount  *value[int64]
	unlimited                                            *value[bool]
	period, maxDelay                                     *value[time.Duration]
	replaces                                             []*replacesNode
	adaptive                                             *adaptiveNode
	odd                                                  bool // it has a word that was refused
}

type replacesNode struct {
	at   *yaml.Node
	name *value[string]
}

type adaptiveNode struct {
	at                               *yaml.Node
	odd                              bool          // as a limit's
	min, max, burstRatio, errorRatio *value[int64] // the ratios in thousandths
	target                           *value[string]
	latencyAt                        *yaml.Node
	quantile                         *value[string]
	threshold                        *value[time.Duration]
}

// maxUint32 is the largest number of a protobuf uint32.
const maxUint32 = 1<<32 - 1

// read reads a whole file; nil if it has no domain.
func (r *reader) read() *fileNode {
	root := r.document()
	if root == nil {
		if r.found[Error] == 0 {
			r.errorf(emptyDomain, nil, "", "the file is empty, it must have a domain")
		}
		return nil
	}
	var f *fileNode
	r.enter(root, func(n *yaml.Node) {
		if isNull(n) {
			r.errorf(emptyDomain, n, "", "the file is empty, it must have a domain")
		} else if m := r.members(n, "", fileShape); m != nil {
			f = m.file(n)
		}
	})
	return f
}

func (m *members) file(n *yaml.Node) *fileNode {
	f := &fileNode{domain: m.text("domain")}
	m.path = "defaults"
	m.inner("defaults", defaultsShape, func(_ *yaml.Node, m *members) { f.defaults = m.defaults() })
	m.path = f.domain.or("")
	f.descriptors = m.descriptors()
	switch {
	case f.domain != nil && f.domain.bad:
		return nil
	case f.domain.or("") == "":
		m.reader.errorf(emptyDomain, n, "", "domain is missing or empty").Wanted = "the domain that Envoy sends"
		return nil
	}
	return f
}

func (m *members) defaults() defaultsNode {
	return defaultsNode{
		algorithm: m.choice("algorithm", algorithmWords), onError: m.choice("on_error", onErrorWords),
		charge: m.choice("charge", []string{"all_or_nothing", "independent"}), allowRefunds: m.boolean("allow_refunds"),
	}
}

func (m *members) descriptors() []*descriptorNode {
	var all []*descriptorNode
	m.list("descriptors", func(item *yaml.Node) {
		all = append(all, m.reader.members(item, m.path, descriptorShape).descriptor(item))
	})
	return all
}

func (m *members) descriptor(n *yaml.Node) *descriptorNode {
	d := &descriptorNode{at: n, key: m.text("key"), value: m.text("value")}
	m.path = joinPath(m.path, d.composite())
	d.shadow, d.quota = m.boolean("shadow_mode"), m.boolean("quota_mode")
	d.detailedMetric, d.valueMetric = m.boolean("detailed_metric"), m.boolean("value_to_metric")
	d.share, d.metadata = m.boolean("share_threshold"), m.metadata("metadata")
	m.inner("rate_limit", limitShape, func(at *yaml.Node, m *members) { d.limit = m.limit(at) })
	d.descriptors = m.descriptors()
	return d
}

func (m *members) limit(at *yaml.Node) *limitNode {
	l := &limitNode{
		at: at, odd: m.odd, algorithm: m.choice("algorithm", algorithmWords), requests: m.count("requests_per_unit", 0, maxUint32), unit: m.text("unit"),
		multiplier: m.count("unit_multiplier", 1, maxUint32), period: m.duration("period", algorithms.MaxWindow, "366d"), burst: m.count("burst", 1, maxUint32),
		overdraft: m.count("overdraft", 0, maxUint32), name: m.text("name"), unlimited: m.boolean("unlimited"),
		onError: m.choice("on_error", onErrorWords), variant: m.choice("variant", []string{"counter", "log"}), bucketCount: m.count("buckets", 1, 64),
		mode: m.choice("mode", []string{"meter", "queue"}), maxDelay: m.duration("max_delay", algorithms.MaxWindow, "366d"), align: m.choice("align", []string{"epoch", "first"}),
	}
	m.list("replaces", func(item *yaml.Node) {
		l.replaces = append(l.replaces, &replacesNode{item, m.reader.members(item, m.path, replacesShape).text("name")})
	})
	m.inner("adaptive", adaptiveShape, func(at *yaml.Node, m *members) { l.adaptive = m.adaptive(at) })
	return l
}

func (m *members) adaptive(at *yaml.Node) *adaptiveNode {
	a := &adaptiveNode{
		at: at, odd: m.odd, min: m.count("min_limit", 1, maxUint32), max: m.count("max_limit", 1, maxUint32), target: m.text("target"),
		burstRatio: m.thousandths("burst_ratio", 1_000_000, "at most 1000"), errorRatio: m.thousandths("error_ratio", 999, "below 1"),
	}
	m.inner("latency", latencyShape, func(at *yaml.Node, m *members) {
		a.latencyAt, a.quantile, a.threshold = at, scalar(m, "quantile", parseQuantile), m.duration("threshold", maxThreshold, "2m")
	})
	return a
}

func parseQuantile(n *yaml.Node) (string, fault) {
	switch n.Value {
	case "0.5", "0.50", ".5":
		return "0.5", fault{}
	case "0.99", ".99":
		return "0.99", fault{}
	default:
		return "", fault{class: invalidChoice, wanted: "0.5 or 0.99"}
	}
}

// composite is the text under which a level knows a rule.
func (d *descriptorNode) composite() string { return composite(d.entry()) }

func (d *descriptorNode) entry() Entry { return Entry{d.key.or(""), d.value.or("")} }

// composite is an entry's key, and its value behind an underscore if it has one.
func composite(e Entry) string {
	if e.Value == "" {
		return e.Key
	}
	return e.Key + "_" + e.Value
}

func joinPath(parent, composite string) string {
	if parent == "" {
		return composite
	}
	return parent + "." + composite
}
