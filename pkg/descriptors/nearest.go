package descriptors

import "strings"

// oneOf lists words for an error text: «a, b or c».
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest is the known word that a mistyped one most likely means, or "" where
// none is near: at most a third of its letters differ, or it is one of the two
// words joined wrongly.
func nearest(word string, known []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	lower := strings.ToLower(word)
	for _, k := range known {
		if d := distance(lower, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// hint is « (did you mean X?)» or "".
func hint(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return " (did you mean " + n + "?)"
	}
	return ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := previous
			if a[i] != b[j] {
				substituted++
			}
			previous = row[j+1]
			row[j+1] = min(substituted, row[j]+1, previous+1)
		}
	}
	return row[len(b)]
}
