package descriptors

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
	Class    Class
	File     string
	Line     int // from 1
	Column   int // from 1, in characters
	Path     string
	Text     string
	Wanted   string // what would be right, "" if that goes without saying
	Nearest  string // the known word that was most likely meant, "" if there is none
	Excerpt  string // the line of the file and below it a caret under the column
}

// String is one line: file:line:column: path: text, and what was meant or wanted.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
	if f.Severity == Warning {
		b.WriteString("warning: ")
	}
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.Text)
	switch {
	case f.Nearest != "":
		b.WriteString(", did you mean " + f.Nearest + "?")
	case f.Wanted != "":
		b.WriteString(", must be " + f.Wanted)
	}
	return oneLine(b.String())
}

// Long is String, the excerpt, and what was wanted if String does not say so.
func (f Finding) Long() string {
	text := f.String()
	if f.Excerpt != "" {
		text += "\n" + f.Excerpt
	}
	if f.Nearest != "" && f.Wanted != "" {
		text += "\n  must be " + f.Wanted
	}
	return text
}

// oneLine escapes what would break a line or disturb a terminal.
func oneLine(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if unprintable(c) {
			escaped := strconv.QuoteRuneToASCII(c)
			b.WriteString(escaped[1 : len(escaped)-1])
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func unprintable(c rune) bool { return c != ' ' && !unicode.IsPrint(c) }

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

// sorted are the findings in order, each once: what several aliases lead to is
// found as often.
func (fs Findings) sorted() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Text == b.Text
	})
}
