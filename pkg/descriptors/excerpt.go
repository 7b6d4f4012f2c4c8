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
		if len(s.Data) > MaxBytes {
			continue
		}
		at := cursor{rest: bytes.TrimPrefix(s.Data, []byte("\uFEFF")), line: 1, column: 1}
		for len(findings) > 0 && findings[0].File <= s.Name {
			if f := &findings[0]; f.File == s.Name {
				f.Excerpt = at.excerpt(f.Line, f.Column)
			}
			findings = findings[1:]
		}
	}
}

// cursor goes through a file, forward only.
type cursor struct {
	rest   []byte // from the beginning of the line
	line   int
	at     int // bytes of the line before the column
	column int
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
	c.at, c.column = 0, 1
	return true
}

// isBreak tells what YAML takes for the end of a line.
func isBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029'
}

// excerpt is a line and below it a caret under a column from 1, both of which
// the cursor has not passed; "" where the file has no such line.
func (c *cursor) excerpt(line, column int) string {
	for c.line < line {
		if !c.next() {
			return ""
		}
	}
	for c.column < column && !c.ends(c.at) {
		c.at += c.size(c.at)
		c.column++
	}
	from, to, shown := c.at, c.at, 0
	for ; from > 0 && shown < maxExcerpt/2; shown++ {
		_, size := utf8.DecodeLastRune(c.rest[:from])
		from -= size
	}
	for ; shown < maxExcerpt && !c.ends(to); shown++ {
		to += c.size(to)
	}
	left, right, indent := "", "", "  "
	if from > 0 {
		left, indent = "…", "   "
	}
	if !c.ends(to) {
		right = "…"
	}
	text := strings.Map(visible, string(c.rest[from:to]))
	return "  " + left + text + right + "\n" + indent + margin([]rune(string(c.rest[from:c.at]))) + "^"
}

// size is how many bytes the character at a place of the line has.
func (c *cursor) size(at int) int {
	_, size := utf8.DecodeRune(c.rest[at:])
	return size
}

// ends says whether the line ends at a place.
func (c *cursor) ends(at int) bool {
	char, size := utf8.DecodeRune(c.rest[at:])
	return size == 0 || isBreak(char)
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
