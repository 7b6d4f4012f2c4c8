package descriptors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// What one file may hold. The parser takes up to a hundred times a file's size;
// aliases multiply what it holds once they are followed.
const (
	MaxBytes    = 16 << 20 // of a file
	maxAliased  = 100_000  // values reached through aliases
	maxDepth    = 200      // mappings and lists around a value
	maxFindings = 1000     // of each severity
)

// reader walks the YAML nodes of one file and collects findings.
type reader struct {
	file     string
	data     []byte
	err      error // why there is no data
	findings *Findings
	found    [Warning + 1]int    // findings by severity
	bad      map[*yaml.Node]bool // values that have been reported
	aliased  int                 // values visited inside aliases
	aliases  int                 // around the present node
	depth    int                 // of mappings and lists around the present node
	stopped  bool                // the file holds too much: nothing more is read or reported
}

// add reports a finding. What it returns may be completed until the next one.
func (r *reader) add(f Finding, n *yaml.Node) *Finding {
	count := &r.found[f.Severity]
	*count++
	if r.stopped || *count > maxFindings {
		return &f
	}
	if *count == maxFindings {
		f.Class, f.Text = tooMuch, "there is more to report, but this is enough for one file"
	}
	f.File, f.Line, f.Column = r.file, max(f.Line, 1), max(f.Column, 1)
	if n != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	*r.findings = append(*r.findings, f)
	return &(*r.findings)[len(*r.findings)-1]
}

func (r *reader) errorf(class Class, n *yaml.Node, path, format string, args ...any) *Finding {
	return r.add(Finding{Severity: Error, Class: class, Path: path, Text: fmt.Sprintf(format, args...)}, n)
}

func (r *reader) warnf(class Class, n *yaml.Node, path, format string, args ...any) {
	r.add(Finding{Severity: Warning, Class: class, Path: path, Text: fmt.Sprintf(format, args...)}, n)
}

// document is the root node of a file's first document, nil if there is none.
func (r *reader) document() *yaml.Node {
	if r.err != nil {
		r.errorf(unreadable, nil, "", "the file cannot be read: %s", r.err)
		return nil
	}
	if len(r.data) > MaxBytes {
		r.errorf(tooMuch, nil, "", "the file has %d bytes", len(r.data)).Wanted = fmt.Sprintf("at most %d; use several files", MaxBytes)
		return nil
	}
	first, rest := firstDocument(r.data)
	if len(nothing.ReplaceAll(rest, nil)) > 0 {
		line, _ := position(first)
		r.add(Finding{Severity: Warning, Class: moreDocuments, Line: line, Text: "another document begins here, only the first is read"}, nil)
	}
	var doc yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(first)).Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	return doc.Content[0]
}

var (
	marker  = regexp.MustCompile(`(?m)^(?:---|\.\.\.)(?:\s|$)`)
	nothing = regexp.MustCompile(`(?m)^(?:---|\.\.\.)?\s*(?:#.*)?(?:\n|$)`)
	head    = regexp.MustCompile(`^(?:\x{FEFF}|\s|#.*|%.*)*$`)
)

// firstDocument cuts a file behind its first document: the parser would stumble
// over a broken beginning of the second.
func firstDocument(data []byte) (first, rest []byte) {
	for _, m := range marker.FindAllIndex(data, 2) {
		if !head.Match(data[:m[0]]) {
			return data[:m[0]], data[m[0]:]
		}
	}
	return data, nil
}

var (
	parserLine    = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.+)' referenced`)
)

// syntax turns the parser's «yaml: line 3: text» into a finding with a position;
// for unknown anchors, which have none, it is where the first such alias is.
func (r *reader) syntax(err error) {
	place := parserLine.FindStringSubmatch(err.Error())
	text := strings.TrimPrefix(err.Error(), place[0])
	f := Finding{Severity: Error, Class: yamlSyntax, Text: "this is not YAML: " + text}
	f.Line, _ = strconv.Atoi(place[1]) // 0 without a line
	if f.Line > 0 {
		f.Line = faultLine(r.data, f.Line)
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(r.data, []byte("*"+m[1]))
		f.Line, f.Column = position(before)
	}
	r.add(f, nil)
}

// position is the line and column of what follows a text.
func position(text []byte) (line, column int) {
	c := cursor{rest: text, line: 1}
	for c.next() {
	}
	return c.line, utf8.RuneCount(c.rest) + 1
}

// enter resolves an alias and reads what it stands for, within the bounds of a
// file; a value that leads back to itself is too deep.
func (r *reader) enter(n *yaml.Node, read func(n *yaml.Node)) {
	if r.stopped {
		return
	}
	depth, aliases := r.depth, r.aliases
	defer func() { r.depth, r.aliases = depth, aliases }()
	r.depth++
	at := n
	for n.Kind == yaml.AliasNode {
		r.aliases++
		n = n.Alias
	}
	if r.aliases > 0 {
		r.aliased++
	}
	switch {
	case r.depth > maxDepth:
		r.stop(at, "the file is nested more than %d levels deep here", maxDepth)
	case r.aliased > maxAliased:
		r.stop(at, "the file's aliases stand for more than %d values", maxAliased)
	default:
		read(n)
	}
}

func (r *reader) stop(at *yaml.Node, format string, args ...any) {
	r.errorf(tooMuch, at, "", format, args...)
	r.stopped = true
}
