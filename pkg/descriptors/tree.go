package descriptors

import (
	"cmp"
	"maps"
	"slices"
)

// Tree is a compiled set of rule files. It does not change and may be read by
// any number of goroutines.
type Tree struct {
	// Rules are all rules in the order of the files, which are read by name.
	Rules   []*Rule
	domains map[string]*Domain
}

// Domain is the rules of one domain.
type Domain struct {
	Name         string
	Charge       Charge
	AllowRefunds bool
	level        level
	// What a request override takes where no rule matches: of merged files, the
	// first one's.
	overrides defaults
}

// level is the rules that one entry of a descriptor can lead to.
type level struct {
	nodes   map[string]*node // by composite: key, or key_value
	longest int              // bytes of a composite
	wild    *wildcards       // the nodes whose composite has a *; nil if there are none
}

// node is a place in the tree.
type node struct {
	rule     *Rule // nil for a place without a rate_limit
	children level
	file     string
	line     int
}

// Domain finds a domain by its exact name; nil if there is none.
func (t *Tree) Domain(name string) *Domain { return t.domains[name] }

// Domains are all domains by name.
func (t *Tree) Domains() []*Domain {
	return slices.SortedFunc(maps.Values(t.domains), func(a, b *Domain) int { return cmp.Compare(a.Name, b.Name) })
}

// Match finds the rule of a descriptor, nil if it has none. At each level the
// rule with the entry's key and value goes before the first listed one with a *
// that matches, that before the one with the key alone, and a level once left is
// not tried again. Only the rule of the last entry counts: a descriptor that
// ends above a rule, or goes on below one, has none.
//
// It allocates nothing, unless an entry of over 511 bytes meets a * or a rule of
// that length.
func (d *Domain) Match(entries []Entry) *Rule {
	if len(entries) == 0 {
		return nil
	}
	var buf [512]byte
	at := &d.level
	last := len(entries) - 1
	for i := range entries {
		n := at.find(&entries[i], buf[:0])
		if n == nil {
			return nil
		}
		if i == last {
			return n.rule
		}
		at = &n.children
	}
	return nil
}

func (l *level) find(e *Entry, buf []byte) *node {
	if l.wild != nil || len(e.Key)+1+len(e.Value) <= l.longest {
		buf = append(buf, e.Key...)
		buf = append(buf, '_')
		buf = append(buf, e.Value...)
		if n := l.nodes[string(buf)]; n != nil {
			return n
		}
		if l.wild != nil {
			if found := l.wild.find(buf).best; found != nil {
				return found.node
			}
		}
	}
	return l.nodes[e.Key]
}
