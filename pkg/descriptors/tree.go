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
	// What a request override takes where no rule matches.
	overrides defaults
}

// level is the rules that one entry of a descriptor can lead to, by composite:
// key, or key_value.
type level map[string]*node

// node is a place in the tree.
type node struct {
	rule     *Rule // nil for a place without a rate_limit
	children level
	line     int // where it is written
}

// Domain finds a domain by its exact name; nil if there is none.
func (t *Tree) Domain(name string) *Domain { return t.domains[name] }

// Domains are all domains by name.
func (t *Tree) Domains() []*Domain {
	return slices.SortedFunc(maps.Values(t.domains), func(a, b *Domain) int { return cmp.Compare(a.Name, b.Name) })
}

// Match finds the rule of a descriptor, nil if it has none. At each level the
// rule with the entry's key and value goes before the one with its key alone,
// and a level once left is not tried again. Only the rule of the last entry
// counts: a descriptor that ends above a rule, or goes on below one, has none.
func (d *Domain) Match(entries []Entry) *Rule {
	if len(entries) == 0 {
		return nil
	}
	var buf [256]byte
	at := d.level
	last := len(entries) - 1
	for i := range entries {
		n := at.find(&entries[i], buf[:0])
		if n == nil {
			return nil
		}
		if i == last {
			return n.rule
		}
		at = n.children
	}
	return nil
}

func (l level) find(e *Entry, buf []byte) *node {
	buf = append(buf, e.Key...)
	buf = append(buf, '_')
	buf = append(buf, e.Value...)
	if n := l[string(buf)]; n != nil {
		return n
	}
	return l[e.Key]
}
