package descriptors

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxExcerpt is how many characters of a line an excerpt shows, at most half of
// them before the column.
const maxExcerpt = 120

// excerpts completes findings that are in order: it goes through each file once.
func excerpts(sources []Source, findings Findings) {
	for _, s := range sources {
		if len(s.Data) > maxBytes {
			continue
		}
		at := cursor{rest: bytes.TrimPrefix(s.Data, []byte("\uFEFF")), line: 1}
		for len(findings) > 0 && findings[0].File <= s.Name {
			if f := &findings[0]; f.File == s.Name {
				f.Excerpt = at.excerpt(f.Line, f.Column)
			}
			findings = findings[1:]
		}
	}
}

// cursor goes through a file line by line.
type cursor struct {
	rest []byte // from the beginning of the line
	line int
}

// next goes to the next line, if there is one.
func (c *cursor) next() bool {
	i := bytes.IndexFunc(c.rest, isBreak)
	if i < 0 {
		return false
	}
	char, size := utf8.DecodeRune(c.rest[i:])
	if char == '\r' && bytes.HasPrefix(c.rest[i+1:], []byte("\n")) {
		size++
	}
	c.rest = c.rest[i+size:]
	c.line++
	return true
}

// isBreak tells what YAML takes for the end of a line.
func isBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029'
}

// excerpt is a line, which the cursor has not passed, and below it a caret under
// a column from 1; "" where the file has no such line.
func (c *cursor) excerpt(line, column int) string {
	for c.line < line {
		if !c.next() {
			return ""
		}
	}
	text := c.rest[:min(len(c.rest), (column+maxExcerpt)*utf8.UTFMax)]
	if end := bytes.IndexFunc(text, isBreak); end >= 0 {
		text = text[:end]
	}
	chars := []rune(string(text))
	at := min(column-1, len(chars))
	from := max(0, at-maxExcerpt/2)
	to := min(len(chars), from+maxExcerpt)
	left, right, indent := "", "", "  "
	if from > 0 {
		left, indent = "…", "   "
	}
	if to < len(chars) {
		right = "…"
	}
	return "  " + left + strings.Map(visible, string(chars[from:to])) + right + "\n" + indent + margin(chars[from:at]) + "^"
}

// margin is as wide as a text: tabs stay, since their width is the terminal's.
func margin(text []rune) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\t':
			b.WriteByte('\t')
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case isWide(c):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// visible keeps control characters from a terminal.
func visible(c rune) rune {
	if c != '\t' && unicode.IsControl(c) {
		return utf8.RuneError
	}
	return c
}

// isWide tells the characters that take two columns: East Asian ones and emoji.
func isWide(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
		c >= 0x3000 && c <= 0x303E || c >= 0xFF01 && c <= 0xFF60 || c >= 0x1F300 && c <= 0x1FAFF
}
