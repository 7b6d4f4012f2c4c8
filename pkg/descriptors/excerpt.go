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

// excerpt is a line and below it a caret under a column from 1; "" where the file
// has no such line.
func (r *reader) excerpt(line, column int) string {
	if r.lines == nil {
		r.lines = lineStarts(r.data)
	}
	if line > len(r.lines) {
		return ""
	}
	text := bytes.TrimPrefix(r.data[r.lines[line-1]:], []byte("\uFEFF"))
	if len(text) > (column+maxExcerpt)*utf8.UTFMax {
		text = text[:(column+maxExcerpt)*utf8.UTFMax]
	}
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

// lineStarts is where each line begins, for the breaks that YAML knows.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		i += size
		if c == '\r' && i < len(data) && data[i] == '\n' {
			continue
		}
		if isBreak(c) {
			starts = append(starts, i)
		}
	}
	return starts
}

func isBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029'
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
