package descriptors

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// shape is a kind of mapping: what error texts call it, and the words it takes.
type shape struct {
	name  string
	words []string
	ours  bool // envoyproxy/ratelimit has no such mapping
}

// members are the values of one mapping by its shape's words.
type members struct {
	reader *reader
	shape  *shape
	path   string // that findings about the values name
	keys   []*yaml.Node
	values []*yaml.Node
	merged []bool // whether the value came through a merge key
	odd    bool   // whether it has a word that was refused, which may stand for one that seems to be missing
}

// members reads a mapping of a shape; nil if the node is none.
func (r *reader) members(n *yaml.Node, path string, s *shape) *members {
	if n.Kind != yaml.MappingNode {
		r.errorf(typeMismatch, n, path, "%s is %s", s.name, describe(n)).Wanted = "a mapping"
		return nil
	}
	size := len(s.words)
	m := &members{reader: r, shape: s, path: path, keys: make([]*yaml.Node, size), values: make([]*yaml.Node, size), merged: make([]bool, size)}
	m.collect(n, false)
	return m
}

// collect takes a mapping's pairs in the order of the text: the later of two
// equal keys wins, and what << merges wins over what stands before it.
func (m *members) collect(n *yaml.Node, merging bool) {
	r := m.reader
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		r.enter(n.Content[i], func(key *yaml.Node) {
			word := slices.Index(m.shape.words, key.Value)
			switch {
			case isMerge(key):
				r.merge(value, m.path, func(n *yaml.Node) { m.collect(n, true) })
			case !isText(key):
				r.errorf(nonStringKey, key, m.path, "a key of %s is %s%s", m.shape.name, describe(key), typeNames[typeOf(key)]).Wanted = oneOf(m.shape.words)
			case word < 0:
				before := r.found[Error]
				m.stranger(key)
				m.odd = m.odd || r.found[Error] > before
			default:
				m.set(word, key, value, merging)
			}
		})
	}
}

func (m *members) set(word int, key, value *yaml.Node, merging bool) {
	switch before := m.keys[word]; {
	case before == nil || m.merged[word]:
	case merging:
		m.reader.warnf(mergedOver, before, m.path, "%s is replaced by what << merges; write << first to keep it", key.Value)
	default:
		m.reader.repeated(key, before, m.path)
	}
	m.keys[word], m.values[word], m.merged[word] = key, value, merging
}

func (r *reader) repeated(key, before *yaml.Node, path string) {
	r.warnf(repeatedKey, key, path, "%s is here twice; the one in line %d is ignored", key.Value, before.Line)
}

// stranger reports a word that the mapping does not have.
func (m *members) stranger(key *yaml.Node) {
	r, word, name := m.reader, key.Value, m.shape.name
	switch {
	case slices.Contains(theirWords, word) && !m.shape.ours:
		r.warnf(wrongLevel, key, m.path, "%s means nothing in %s and is ignored", word, name)
	case slices.Contains(theirWords, word) || slices.Contains(ourWords, word):
		r.errorf(misplacedWord, key, m.path, "%s belongs in %s, not in %s", word, oneOf(homes(word)), name)
	default:
		f := r.errorf(unknownKey, key, m.path, "unknown word %q in %s", word, name)
		f.Wanted, f.Nearest = oneOf(m.shape.words), nearest(word, m.shape.words)
	}
}

// merge reads what a << key merges: a mapping, or a list of them of which the
// first wins, so it is read last.
func (r *reader) merge(n *yaml.Node, path string, read func(*yaml.Node)) {
	r.enter(n, func(n *yaml.Node) {
		switch n.Kind {
		case yaml.MappingNode:
			read(n)
		case yaml.SequenceNode:
			for _, item := range slices.Backward(n.Content) {
				r.merge(item, path, read)
			}
		default:
			r.errorf(typeMismatch, n, path, "<< merges %s", describe(n)).Wanted = "a mapping"
		}
	})
}

// list reads a list of mappings item by item.
func (m *members) list(word string, read func(item *yaml.Node)) {
	n := m.value(word)
	if n == nil {
		return
	}
	r := m.reader
	r.enter(n, func(n *yaml.Node) {
		switch {
		case isNull(n):
			return
		case n.Kind != yaml.SequenceNode:
			r.errorf(typeMismatch, n, m.path, "%s is %s", word, describe(n)).Wanted = "a list"
			return
		}
		for _, item := range n.Content {
			r.enter(item, func(n *yaml.Node) {
				if n.Kind != yaml.MappingNode {
					r.errorf(listOfNonMaps, n, m.path, "an item of %s is %s", word, describe(n)).Wanted = "a mapping"
					return
				}
				read(n)
			})
		}
	})
}

// value is what stands behind a word of the shape; nil if the word is not there.
func (m *members) value(word string) *yaml.Node {
	return m.values[slices.Index(m.shape.words, word)]
}

// inner reads the mapping behind a word, if there is one.
func (m *members) inner(word string, s *shape, read func(at *yaml.Node, m *members)) {
	n := m.value(word)
	if n == nil {
		return
	}
	m.reader.enter(n, func(n *yaml.Node) {
		if isNull(n) {
			return
		}
		if inner := m.reader.members(n, m.path, s); inner != nil {
			read(n, inner)
		}
	})
}

// describe is a value as error texts show it, cut to a length that fits a line.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
	}
	const most = 60
	switch text := []rune(n.Value[:min(len(n.Value), 4*most)]); {
	case isNull(n):
		return "empty"
	case len(text) > most:
		return strconv.Quote(string(text[:most]) + "…")
	case typeOf(n) == intType, typeOf(n) == floatType: // quotes would be taken for those of the file
		return n.Value
	default:
		return strconv.Quote(n.Value)
	}
}
