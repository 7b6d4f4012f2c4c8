package descriptors_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eb50146d/rls/pkg/descriptors"
)

// rule is a rule as the naive matcher knows it.
type rule struct {
	key, value string
	limit      int // 0 = no rate_limit
	below      []*rule
}

func (r *rule) composite() string {
	if r.value == "" {
		return r.key
	}
	return r.key + "_" + r.value
}

// naive is envoyproxy/ratelimit's matching, word by word; 0 = no limit.
func naive(rules []*rule, e []descriptors.Entry) int {
	for i, entry := range e {
		found := naiveLevel(rules, entry)
		switch {
		case found == nil:
			return 0
		case i == len(e)-1:
			return found.limit
		case len(found.below) == 0:
			return 0
		}
		rules = found.below
	}
	return 0
}

func naiveLevel(rules []*rule, e descriptors.Entry) *rule {
	whole := e.Key + "_" + e.Value
	for _, r := range rules {
		if r.composite() == whole {
			return r
		}
	}
	for _, r := range rules {
		if strings.Contains(r.composite(), "*") && glob(r.composite(), whole) {
			return r
		}
	}
	for _, r := range rules {
		if r.composite() == e.Key {
			return r
		}
	}
	return nil
}

// glob tries every length of every star.
func glob(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] != '*' {
		return text != "" && text[0] == pattern[0] && glob(pattern[1:], text[1:])
	}
	for i := range len(text) + 1 {
		if glob(pattern[1:], text[i:]) {
			return true
		}
	}
	return false
}

// dice makes rules and entries from bytes.
type dice struct{ bytes []byte }

func (d *dice) roll(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := int(d.bytes[0]) % n
	d.bytes = d.bytes[1:]
	return b
}

func (d *dice) text(letters string, most int) string {
	var b strings.Builder
	for range d.roll(most + 1) {
		b.WriteByte(letters[d.roll(len(letters))])
	}
	return b.String()
}

func (d *dice) rules(limit *int, depth int) []*rule {
	var all []*rule
	seen := map[string]bool{}
	most, letters, star := d.roll(24), "a_*", ""
	if depth == 0 && d.roll(2) == 0 { // so many of one form that they are looked up by what they hold
		most, letters, star = 80, "", "*"
	}
	for range most {
		r := &rule{key: "k" + d.text(letters, min(2, len(letters))), value: star + d.text("ab_**", 6) + star}
		if seen[r.composite()] {
			continue
		}
		seen[r.composite()] = true
		if d.roll(4) > 0 {
			*limit++
			r.limit = *limit
		}
		if depth < 2 && d.roll(3) == 0 {
			r.below = d.rules(limit, depth+1)
		}
		all = append(all, r)
	}
	return all
}

func write(b *strings.Builder, rules []*rule) {
	b.WriteString("[")
	for _, r := range rules {
		fmt.Fprintf(b, "{key: %q, value: %q", r.key, r.value)
		if r.limit > 0 {
			fmt.Fprintf(b, ", rate_limit: {requests_per_unit: %d, unit: day}", r.limit)
		}
		b.WriteString(", descriptors: ")
		write(b, r.below)
		b.WriteString("},\n")
	}
	b.WriteString("]")
}

// FuzzMatch: Match finds what the naive matcher finds.
func FuzzMatch(f *testing.F) {
	f.Add([]byte("\x1d" + strings.Repeat("\x01\x02\x05\x00\x03\x04", 100)))
	f.Add([]byte("\x14" + strings.Repeat("abcdefghi*_", 60)))
	f.Fuzz(compareNaive)
}

// TestMatchIsNaive is FuzzMatch with dice.
func TestMatchIsNaive(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := make([]byte, 1500)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		compareNaive(t, data)
	}
}

func compareNaive(t *testing.T, data []byte) {
	t.Helper()
	d, limit := &dice{data[:len(data)*2/3]}, 0
	rules := d.rules(&limit, 0)
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors: ")
	write(&b, rules)
	domain := compile(t, b.String()).Domain("d")
	d = &dice{data[len(data)*2/3:]}
	for range 50 {
		var e []descriptors.Entry
		for range 1 + d.roll(3) {
			e = append(e, descriptors.Entry{Key: "k" + d.text("a_*", 2), Value: d.text("ab_*", 8)})
		}
		if got, want := int(limitOf(domain.Match(e))), naive(rules, e); got != want {
			t.Fatalf("%q leads to rule %d, want %d\n%s", e, got, want, b.String())
		}
	}
}
