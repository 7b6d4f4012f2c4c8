package descriptors

import (
	"cmp"
	"slices"
	"strings"
)

// Source is one rule file.
type Source struct {
	Name string // as it is to appear in findings
	Data []byte
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
//   - a rule's numbers cannot be: see algorithms.New.
func Compile(sources []Source, _ Options) (*Tree, Findings) {
	c := &compiler{tree: &Tree{domains: map[string]*Domain{}}, files: map[string]string{}}
	sources = slices.SortedFunc(slices.Values(sources), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range sources {
		c.reader = &reader{file: s.Name, findings: &c.findings}
		if f := c.reader.read(s.Data); f != nil {
			c.add(f)
		}
	}
	c.findings.sort()
	if c.findings.Err() != nil {
		return nil, c.findings
	}
	return c.tree, c.findings
}

type compiler struct {
	reader   *reader // of the present file
	tree     *Tree
	findings Findings
	files    map[string]string // domain → file
	domain   string            // the present one
	names    map[string]*Rule  // its rules by label
}

func (c *compiler) add(f *fileNode) {
	name := f.domain.is
	if other, ok := c.files[name]; ok {
		c.reader.errorf(f.domain.at, "", "domain %s is already in %s", name, other)
		return
	}
	c.files[name] = f.name
	c.domain, c.names = name, map[string]*Rule{}
	d := &Domain{Name: name, Charge: AllOrNothing, AllowRefunds: f.defaults.allowRefunds.or(true), overrides: f.defaults.checked()}
	if f.defaults.charge.or("") == "independent" {
		d.Charge = Independent
	}
	d.level = c.level(f.descriptors, place{path: name, defaults: d.overrides})
	c.tree.domains[name] = d
}

// place is where in a domain the compiler is.
type place struct {
	path     string
	entries  []Entry // that lead here
	defaults defaults
}

func (p place) below(d *descriptorNode) place {
	return place{joinPath(p.path, d.composite()), append(slices.Clip(p.entries), Entry{d.key.or(""), d.value.or("")}), p.defaults}
}

func (c *compiler) level(nodes []*descriptorNode, parent place) level {
	if len(nodes) == 0 {
		return nil
	}
	l := make(level, len(nodes))
	for _, d := range nodes {
		at, composite := parent.below(d), d.composite()
		switch {
		case d.key != nil && d.key.bad:
		case d.key.or("") == "":
			c.reader.errorf(d.at, parent.path, "key is missing or empty, must be a descriptor entry's key")
		case strings.Contains(composite, "*"):
			c.reader.errorf(d.at, at.path, "wildcards (*) are not supported by this version of rls")
		case l[composite] != nil:
			c.reader.errorf(d.at, at.path, "the same key and value are already in line %d", l[composite].line)
		default:
			l[composite] = c.node(d, at)
		}
	}
	return l
}

func (c *compiler) node(d *descriptorNode, at place) *node {
	n := &node{line: d.at.Line}
	if d.limit != nil {
		n.rule = c.rule(d, at)
	}
	n.children = c.level(d.descriptors, at)
	return n
}
