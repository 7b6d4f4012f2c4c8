package descriptors

// Steps is how many looks and comparisons Match needs for a one-entry descriptor
// among the patterns of a domain.
func (d *Domain) Steps(e Entry) int { return d.level.wild.find([]byte(e.Key + "_" + e.Value)).steps }

// Statistics of the bounds that a file has.
const (
	MaxAliased  = maxAliased
	MaxFindings = maxFindings
)

// Nearest is the hint for a mistyped word.
func Nearest(word string, known []string) string { return nearest(word, known) }

// Words are all words of a rule file.
func Words() []string { return append(append([]string{}, theirWords...), ourWords...) }

// StatName is a text as a name of envoyproxy/ratelimit's statistics.
func StatName(text string) string { return statName(text) }
