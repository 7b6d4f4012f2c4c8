package descriptors

import (
	"maps"
	"slices"
	"strings"
)

// oneOf lists words for an error text: «a, b or c».
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest is the known word that a mistyped one most likely means, or "" where
// none is near: one letter in three, but at least one, is wrong, missing, too
// much or in its neighbour's place; or the word is a beginning or a part of one.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	if len(word) > maxWord {
		return ""
	}
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, k); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, k := range known {
		if strings.HasPrefix(k, word) || slices.Contains(strings.Split(k, "_"), word) {
			return k
		}
	}
	return ""
}

// Nearest is the domain that a mistyped name most likely means, "" where none is
// near or the name is long.
func (t *Tree) Nearest(name string) string {
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(t.domains)), func(k string) bool { return len(k) > maxWord })
	return nearest(name, known)
}

// maxWord is longer than any word of a rule file, in bytes.
const maxWord = 40

// distance is how many letters (bytes) two words differ in, where two neighbours
// that changed places count once.
func distance(a, b string) int {
	var rows [3][maxWord + 1]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			substituted := above[j]
			if a[i] != b[j] {
				substituted++
			}
			row[j+1] = min(substituted, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
