package descriptors

import (
	"encoding/binary"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/eb50146d/rls/pkg/algorithms"
)

// mark is what a rule file says of one of the entries that lead to a rule.
type mark uint8

const (
	shared mark = 1 << iota // share_threshold: all values that match are one
	valued                  // value_to_metric: the statistic key has the value
)

func (d *descriptorNode) mark() mark {
	var m mark
	if d.share.or(false) {
		m |= shared
	}
	if d.valueMetric.or(false) {
		m |= valued
	}
	return m
}

func (r *Rule) marked(i int, m mark) bool { return i < len(r.marks) && r.marks[i]&m != 0 }

// Identity is the entry at a place of a descriptor as the rule's keys have it:
// as it was asked, or, where the rule shares its limit among all that matches,
// as it is written in the rule.
func (r *Rule) Identity(i int, asked Entry) Entry {
	if r.marked(i, shared) {
		return r.Entries[i]
	}
	return asked
}

// ManyKeys says whether descriptors with different values have the limit each for
// themselves.
func (r *Rule) ManyKeys() bool {
	for i, e := range r.Entries {
		if (e.Value == "" || strings.Contains(e.Value, "*")) && !r.marked(i, shared) {
			return true
		}
	}
	return false
}

// Group is the same for all keys of a rule and survives a reload: a hash of the
// rule's family, and of its path, which begins with its domain.
func (r *Rule) Group() uint64 {
	h := fnv.New64a()
	h.Write([]byte{byte(r.Limit.Kind().Family())})
	h.Write([]byte(r.Path))
	return h.Sum64()
}

// keyVersion is the first byte of every key; it changes with the key's form or
// the meaning of a state.
const keyVersion = 1

// AppendKey appends the identity of what the rule keeps for a descriptor under
// its present limit: format version, family, for window kinds also window and
// buckets, the domain and the entries, each behind its length, so that no two
// descriptors share a key.
func (r *Rule) AppendKey(dst []byte, limit *algorithms.Rule, entries []Entry) []byte {
	family := limit.Kind().Family()
	dst = append(dst, keyVersion, byte(family))
	if family != algorithms.TATFamily {
		dst = binary.AppendUvarint(dst, uint64(limit.Window()))  //nolint:gosec // a window is positive
		dst = binary.AppendUvarint(dst, uint64(limit.Buckets())) //nolint:gosec // buckets are positive
	}
	dst = appendText(dst, r.Domain)
	for i := range entries {
		e := r.Identity(i, entries[i])
		dst = appendText(dst, e.Key)
		dst = appendText(dst, e.Value)
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// StatKey is what envoyproxy/ratelimit calls the rule in its statistics when a
// descriptor leads to it: the path, with the values that were asked where the
// rule file wants them, or for all entries of a rule that a request brought along.
func (r *Rule) StatKey(entries []Entry) string {
	if r.statKey != "" {
		return r.statKey
	}
	var b strings.Builder
	b.WriteString(r.Domain)
	for i, e := range entries {
		b.WriteByte('.')
		switch {
		case r.marked(i, shared):
			b.WriteString(composite(r.Entries[i]))
		case r.detailed:
			b.WriteString(e.Key + "_" + e.Value)
		case r.Index < 0, r.marked(i, valued):
			b.WriteString(composite(e))
		default:
			b.WriteString(composite(r.Entries[i]))
		}
	}
	return statName(b.String())
}

// setStatKey keeps the statistic key of a rule for which it is always the same.
func (r *Rule) setStatKey() {
	asked := r.detailed
	for i := range r.marks {
		asked = asked || r.marked(i, valued)
	}
	if !asked {
		r.statKey = statName(r.Path)
	}
}

var (
	reserved = strings.NewReplacer(":", "_", "|", "_")
	address  = regexp.MustCompile(`(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})`)
)

// statName replaces what a statsd name must not have, and the dots of addresses.
func statName(text string) string {
	return address.ReplaceAllString(reserved.Replace(text), "${1}_${2}_${3}_${4}")
}
