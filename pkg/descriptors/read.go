package descriptors

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What one file may hold after its aliases are followed, so that a few nested
// aliases, or one within itself, cannot take all time and memory.
const (
	maxNodes = 1_000_000
	maxDepth = 200
)

// reader walks the YAML nodes of one file and collects findings.
type reader struct {
	file     string
	findings *Findings
	nodes    int // visited so far
	depth    int // of mappings and lists around the present node
}

func (r *reader) add(severity Severity, n *yaml.Node, path, format string, args ...any) {
	f := Finding{Severity: severity, File: r.file, Path: path, Text: fmt.Sprintf(format, args...)}
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	*r.findings = append(*r.findings, f)
}

func (r *reader) errorf(n *yaml.Node, path, format string, args ...any) {
	r.add(Error, n, path, format, args...)
}

func (r *reader) warnf(n *yaml.Node, path, format string, args ...any) {
	r.add(Warning, n, path, format, args...)
}

// document is the root node of a file's first document, nil if there is none.
func (r *reader) document(data []byte) *yaml.Node {
	var doc yaml.Node
	err := yaml.NewDecoder(strings.NewReader(string(data))).Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	return doc.Content[0]
}

// syntax turns the parser's «yaml: line 3: text» into a finding with a position.
func (r *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	f := Finding{Severity: Error, File: r.file, Text: "this is not YAML: " + text}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, reason, found := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); found && err == nil {
			f.Line, f.Column, f.Text = line, 1, "this is not YAML: "+reason
		}
	}
	*r.findings = append(*r.findings, f)
}

// The walk of a file that grows without bound ends with one of these.
var (
	errTooLarge = fmt.Errorf("the file holds more than %d values once its aliases are followed", maxNodes)
	errTooDeep  = fmt.Errorf("the file is nested more than %d levels deep", maxDepth)
)

// follow resolves an alias.
func (r *reader) follow(n *yaml.Node) (*yaml.Node, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, errTooLarge
	}
	if r.depth > maxDepth {
		return nil, errTooDeep
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, nil
}

// field is one word that a mapping may have, and what reads its value.
type field struct {
	word string
	read func(value *yaml.Node) error
}

// mapping reads a mapping by its fields; what names the mapping in error texts.
func (r *reader) mapping(n *yaml.Node, path, what string, fields []field) error {
	n, err := r.follow(n)
	if err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(n, path, "%s must be a mapping, this is %s", what, kindOf(n))
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	pairs, err := r.pairs(n, path)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		i := slices.IndexFunc(fields, func(f field) bool { return f.word == p.key.Value })
		if i < 0 || !isWord(p.key) {
			r.stranger(p.key, path, what, words(fields))
			continue
		}
		if err := fields[i].read(p.value); err != nil {
			return err
		}
	}
	return nil
}

type pair struct{ key, value *yaml.Node }

// pairs are a mapping's pairs with its merge keys (<<) resolved: what the
// mapping says itself wins over what it merges, the later of two equal keys over
// the earlier.
func (r *reader) pairs(n *yaml.Node, path string) ([]pair, error) {
	var own, merged []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.follow(n.Content[i])
		if err != nil {
			return nil, err
		}
		value := n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			more, err := r.merge(value, path)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if j := slices.IndexFunc(own, func(p pair) bool { return p.key.Value == key.Value }); j >= 0 {
			r.warnf(key, path, "%s is here twice; line %d is ignored", key.Value, own[j].key.Line)
			own = slices.Delete(own, j, j+1)
		}
		own = append(own, pair{key, value})
	}
	for _, m := range merged {
		if !slices.ContainsFunc(own, func(p pair) bool { return p.key.Value == m.key.Value }) {
			own = append(own, m)
		}
	}
	return own, nil
}

// merge reads what a << key merges: a mapping, or a list of mappings of which
// the first wins.
func (r *reader) merge(n *yaml.Node, path string) ([]pair, error) {
	n, err := r.follow(n)
	if err != nil {
		return nil, err
	}
	r.depth++
	defer func() { r.depth-- }()
	switch n.Kind {
	case yaml.MappingNode:
		return r.pairs(n, path)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range n.Content {
			more, err := r.merge(item, path)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	default:
		r.errorf(n, path, "<< must merge a mapping, this is %s", kindOf(n))
		return nil, nil
	}
}

// list reads a list item by item.
func (r *reader) list(n *yaml.Node, path, what string, read func(item *yaml.Node) error) error {
	n, err := r.follow(n)
	if err != nil {
		return err
	}
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.errorf(n, path, "%s must be a list, this is %s", what, kindOf(n))
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	for _, item := range n.Content {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

func words(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.word
	}
	return names
}

// isWord tells a plain text key from a number, a boolean or a structure.
func isWord(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str"
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if isNull(n) {
			return "empty"
		}
		return strconv.Quote(n.Value)
	default:
		return "nothing"
	}
}
