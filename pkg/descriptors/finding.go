package descriptors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells whether a finding refuses its file. The zero Severity is invalid.
type Severity uint8

// The severities.
const (
	// Error refuses the whole set of files.
	Error Severity = iota + 1
	// Warning is about something that loads but does not do what it seems to.
	Warning
)

// Finding is something wrong in a file, and where.
type Finding struct {
	Severity Severity
	File     string
	Line     int // from 1; 0 = about the file as a whole
	Column   int // from 1, in characters; 0 where there is no line
	Path     string
	Text     string
}

// String is file:line:column: path: text, without the parts that are unknown.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Severity == Warning {
		b.WriteString("warning: ")
	}
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Findings are all findings of a set of files, by file and position.
type Findings []Finding

// Err is nil if no finding is an Error; otherwise an error with all of those, a
// line each.
func (fs Findings) Err() error {
	var lines []string
	for _, f := range fs {
		if f.Severity == Error {
			lines = append(lines, f.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return refusal(strings.Join(lines, "\n"))
}

type refusal string

func (r refusal) Error() string { return string(r) }

func (fs Findings) sort() {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
