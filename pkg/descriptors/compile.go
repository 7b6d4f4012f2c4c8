package descriptors

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Source is one rule file.
type Source struct {
	Name string // as it is to appear in findings
	Data []byte
	Err  error // why the file could not be read; refuses the set
}

// Options are how rule files are taken together.
type Options struct {
	// MergeDomains lets several files add rules to one domain.
	MergeDomains bool
}

// Compile reads rule files into a tree. The findings hold every error and
// warning of every file; if one is an Error, the tree is nil. A file, or a set
// of files, is refused when
//
//   - it is not YAML, has no domain, or has the domain of another file;
//   - a word is unknown, or one of ours stands where it means nothing;
//   - a value is of the wrong type or out of its range;
//   - two rules of a level have the same key and value;
//   - a rule's numbers cannot be: see algorithms.New;
//   - it holds more than anybody would write: see MaxBytes.
func Compile(sources []Source, o Options) (*Tree, Findings) {
	c := &compiler{options: o, tree: &Tree{domains: map[string]*Domain{}}, domains: map[string]*domain{}}
	sources = slices.SortedFunc(slices.Values(sources), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range sources {
		c.reader = &reader{file: s.Name, data: s.Data, err: s.Err, findings: &c.findings, bad: map[*yaml.Node]bool{}}
		if f := c.reader.read(); f != nil {
			c.add(f)
		}
	}
	for _, d := range c.domains {
		d.unknownNames()
	}
	c.findings = c.findings.sorted()
	excerpts(sources, c.findings)
	if c.findings.Err() != nil {
		return nil, c.findings
	}
	return c.tree, c.findings
}

type compiler struct {
	options  Options
	reader   *reader // of the present file
	tree     *Tree
	findings Findings
	domains  map[string]*domain
	domain   *domain // the present one
}

// domain is a domain while its files are compiled.
type domain struct {
	*Domain
	file         string // the first that has it
	charge       *value[string]
	allowRefunds *value[bool]
	labels       map[string]*Rule
	names        map[string]bool
	replaced     []mention
}

// mention is a place where a rule's name is used.
type mention struct {
	reader *reader
	at     *yaml.Node
	path   string
	name   string
}

func (c *compiler) add(f *fileNode) {
	name := f.domain.is
	d := c.domains[name]
	if d != nil && !c.options.MergeDomains {
		c.reader.errorf(duplicateDomain, f.domain.at, "", "domain %s is already in %s", name, d.file)
		return
	}
	defaults := f.defaults.checked()
	if d == nil {
		d = &domain{
			Domain: &Domain{Name: name, Charge: AllOrNothing, AllowRefunds: true, overrides: defaults},
			file:   c.reader.file, labels: map[string]*Rule{}, names: map[string]bool{},
		}
		c.domains[name], c.tree.domains[name] = d, d.Domain
	}
	c.domain = d
	c.agree(&f.defaults)
	c.level(&d.level, f.descriptors, place{path: name, defaults: defaults})
}

// agree takes what a file says of its whole domain, which files of the same
// domain must not say differently.
func (c *compiler) agree(f *defaultsNode) {
	d := c.domain
	if f.charge != nil && !f.charge.bad {
		if d.charge != nil && d.charge.is != f.charge.is {
			c.reader.errorf(conflict, f.charge.at, "defaults", "charge is %s, another file of domain %s says %s", f.charge.is, d.Name, d.charge.is)
		}
		d.charge = f.charge
		if f.charge.is == "independent" {
			d.Charge = Independent
		}
	}
	if f.allowRefunds != nil && !f.allowRefunds.bad {
		if d.allowRefunds != nil && d.allowRefunds.is != f.allowRefunds.is {
			c.reader.errorf(conflict, f.allowRefunds.at, "defaults", "allow_refunds is %v, another file of domain %s says %v",
				f.allowRefunds.is, d.Name, d.allowRefunds.is)
		}
		d.allowRefunds = f.allowRefunds
		d.AllowRefunds = f.allowRefunds.is
	}
}

// place is where in a domain the compiler is.
type place struct {
	path     string
	entries  []Entry // that lead here
	marks    []mark  // of each; nil if there are none
	defaults defaults
	above    *limited // the closest rule on the way here, nil if there is none
}

func (p place) below(d *descriptorNode) place {
	p.path = joinPath(p.path, d.composite())
	p.entries = append(slices.Clip(p.entries), d.entry())
	if m := d.mark(); m != 0 || p.marks != nil {
		marks := make([]mark, len(p.entries))
		copy(marks, p.marks)
		marks[len(marks)-1] = m
		p.marks = marks
	}
	return p
}

// level adds rules to a level, in the order of the file.
func (c *compiler) level(l *level, nodes []*descriptorNode, parent place) {
	if len(nodes) > 0 && l.nodes == nil {
		l.nodes = make(map[string]*node, len(nodes))
	}
	var added []*descriptorNode
	for _, d := range nodes {
		at, composite := parent.below(d), d.composite()
		switch before := l.nodes[composite]; {
		case d.key != nil && d.key.bad, d.value != nil && d.value.bad:
		case d.key.or("") == "":
			c.reader.errorf(emptyKey, d.at, parent.path, "key is missing or empty").Wanted = "the key of a descriptor's entry"
		case before != nil && before.file != c.reader.file:
			c.reader.errorf(duplicateRule, d.at, at.path, "key and value, joined by _, are those of %s, line %d", before.file, before.line)
		case before != nil:
			c.reader.errorf(duplicateRule, d.at, at.path, "key and value, joined by _, are those of line %d", before.line)
		default:
			l.add(composite, c.node(d, at))
			added = append(added, d)
		}
	}
	for _, d := range added {
		c.unreachable(l, d, parent)
	}
}

func (l *level) add(composite string, n *node) {
	l.nodes[composite] = n
	l.longest = max(l.longest, len(composite))
	if strings.Contains(composite, "*") {
		if l.wild == nil {
			l.wild = &wildcards{}
		}
		l.wild.add(composite, n)
	}
}

func (c *compiler) node(d *descriptorNode, at place) *node {
	n := &node{file: c.reader.file, line: d.at.Line}
	if d.share.or(false) && !strings.Contains(d.composite(), "*") {
		c.reader.errorf(shareNoWildcard, d.share.at, at.path, "share_threshold needs a * in key or value, there is none")
	}
	if d.limit != nil {
		n.rule = c.rule(d, at)
	}
	c.lint(d, n.rule, at)
	if n.rule != nil && !n.rule.Unlimited && len(d.descriptors) > 0 {
		at.above = &limited{rule: n.rule, at: d.limit.at}
	}
	c.level(&n.children, d.descriptors, at)
	return n
}
