package descriptors

import (
	"bytes"
	"slices"
	"strings"
)

// wildcards finds the first listed of a level's patterns that matches a text. So
// that this does not take longer the more patterns there are, it tries only
// those whose text before the first *, after the last *, and longest in between
// occur in the text; only patterns that share all three are tried in turn.
type wildcards struct {
	count  int
	before affixes[affixes[inner]]
}

// pattern is a rule whose composite has a *.
type pattern struct {
	order int      // among its level's patterns
	parts [][]byte // in between stars, never empty
	node  *node
}

// affixes knows the text of which it holds one from another, larger text, in one
// look for each length that there is, however many there are of that length.
type affixes[T any] struct {
	lengths []int // ascending
	groups  map[string]*T
}

// inner are the patterns that begin and end with the same texts.
type inner struct {
	single *pattern            // the one with nothing in between
	listed []*pattern          // the others
	parts  affixes[[]*pattern] // the same by their longest part in between
	search []part              // these parts
	starts map[int]*starts     // of the parts of each length, if they are many
}

// part is a text in between stars, and the patterns that have no longer one.
type part struct {
	text []byte
	of   *[]*pattern
}

// starts are the beginnings that the parts of one length have, as bits: a place
// of a text that has none of them needs no closer look.
type starts [1 << 16 / 64]uint64

// How many patterns are tried in turn, and how many parts are looked for one by
// one, rather than at every place of a text.
const (
	few  = 16
	some = 64
)

// bit is the place in a starts of a beginning, of which up to 4 bytes count.
func bit(text []byte) (word, mask uint64) {
	h := uint32(0)
	for _, c := range text[:min(len(text), 4)] {
		h = h<<8 | uint32(c)
	}
	h = h * 2654435761 >> 16 // Knuth's multiplicative hash
	return uint64(h / 64), 1 << (h % 64)
}

func (a *affixes[T]) group(text string) *T {
	if g := a.groups[text]; g != nil {
		return g
	}
	if a.groups == nil {
		a.groups = map[string]*T{}
	}
	if i, found := slices.BinarySearch(a.lengths, len(text)); !found {
		a.lengths = slices.Insert(a.lengths, i, len(text))
	}
	a.groups[text] = new(T)
	return a.groups[text]
}

// add appends a pattern to those that are listed.
func (w *wildcards) add(composite string, n *node) {
	parts := strings.Split(composite, "*")
	last := len(parts) - 1
	p := &pattern{order: w.count, node: n}
	w.count++
	longest := ""
	for _, part := range parts[1:last] {
		if part != "" {
			p.parts = append(p.parts, []byte(part))
		}
		if len(part) > len(longest) {
			longest = part
		}
	}
	in := w.before.group(parts[0]).group(parts[last])
	if longest == "" {
		if in.single == nil {
			in.single = p
		}
		return
	}
	in.listed = append(in.listed, p)
	list := in.parts.group(longest)
	*list = append(*list, p)
	if len(*list) == 1 {
		in.look(part{[]byte(longest), list})
	}
}

// look adds a part to those that are looked for.
func (in *inner) look(p part) {
	in.search = append(in.search, p)
	switch {
	case len(in.search) <= some:
	case in.starts == nil:
		in.starts = map[int]*starts{}
		for _, p := range in.search {
			in.begin(p.text)
		}
	default:
		in.begin(p.text)
	}
}

// begin remembers the beginning of a part.
func (in *inner) begin(text []byte) {
	of := in.starts[len(text)]
	if of == nil {
		of = new(starts)
		in.starts[len(text)] = of
	}
	word, mask := bit(text)
	of[word] |= mask
}

// search is one look for the first listed pattern that matches a text.
type search struct {
	text  []byte
	best  *pattern
	steps int // looks and comparisons, for a test
}

func (w *wildcards) find(text []byte) search {
	s := search{text: text}
	for _, b := range w.before.lengths {
		if b > len(text) {
			break
		}
		s.steps++
		after := w.before.groups[string(text[:b])]
		if after == nil {
			continue
		}
		for _, a := range after.lengths {
			if a > len(text)-b {
				break
			}
			s.steps++
			if in := after.groups[string(text[len(text)-a:])]; in != nil {
				s.within(in, text[b:len(text)-a])
			}
		}
	}
	return s
}

// within looks among patterns of which the outer texts match.
func (s *search) within(in *inner, rest []byte) {
	if in.single != nil {
		s.first(rest, in.single)
	}
	if len(in.listed) <= few {
		s.first(rest, in.listed...)
		return
	}
	if in.starts == nil {
		for i := range in.search {
			s.steps++
			if bytes.Contains(rest, in.search[i].text) {
				s.first(rest, *in.search[i].of...)
			}
		}
		return
	}
	for _, length := range in.parts.lengths {
		begins := in.starts[length]
		for from := 0; from+length <= len(rest); from++ {
			if word, mask := bit(rest[from : from+length]); begins[word]&mask == 0 {
				continue
			}
			s.steps++
			if list := in.parts.groups[string(rest[from:from+length])]; list != nil {
				s.first(rest, *list...)
			}
		}
	}
}

// first keeps the first of some listed patterns that matches, if it is listed
// before the best so far.
func (s *search) first(rest []byte, listed ...*pattern) {
	for _, p := range listed {
		if s.best != nil && s.best.order <= p.order {
			return
		}
		s.steps++
		if p.matches(rest) {
			s.best = p
			return
		}
	}
}

func (p *pattern) matches(rest []byte) bool {
	for _, part := range p.parts {
		i := bytes.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}
